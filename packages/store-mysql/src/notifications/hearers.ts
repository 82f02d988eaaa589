import type { DatabaseClock } from '../connection/clock.ts'
import type { Connections } from '../connection/connections.ts'
import { Packet } from '../connection/packet.ts'

/** Who hears of every event, until when: the column `hearers`, as JSON. */
type Hearers = Readonly<Record<string, number>>

const HEARS_MS = 90_000

export function hearersOf(text: string | null, nowMs: number): string[] {
  if (text === null) return []
  const hearers: Hearers = JSON.parse(text)
  return Object.keys(hearers).filter((process) => hearers[process]! > nowMs)
}

/** Enters a process for some time, and strikes off those whose time is over. Says whether it was there already. */
export async function enterHearer(connections: Connections, clock: DatabaseClock, process: string): Promise<boolean> {
  return change(connections, clock, (hearers, nowMs) => ({ ...hearers, [process]: nowMs + HEARS_MS }), process)
}

export async function strikeOffHearer(connections: Connections, clock: DatabaseClock, process: string): Promise<void> {
  await change(connections, clock, ({ [process]: _, ...others }) => others, process)
}

async function change(
  connections: Connections,
  clock: DatabaseClock,
  to: (hearers: Hearers, nowMs: number) => Hearers,
  process: string,
): Promise<boolean> {
  return connections.transaction(async (run) => {
    const read = `SELECT hearers, ${clock.sql} AS now_ms FROM baton_store WHERE id = 1 FOR UPDATE`
    const [, [row]] = await run(new Packet().add('START TRANSACTION').add(read))
    const present: Hearers = JSON.parse(row.hearers ?? '{}')
    const alive = Object.fromEntries(hearersOf(row.hearers, row.now_ms).map((each) => [each, present[each]!]))
    const write = 'UPDATE baton_store SET hearers = ? WHERE id = 1'
    await run(new Packet().add(write, JSON.stringify(to(alive, row.now_ms))).add('COMMIT'))
    return process in alive
  })
}
