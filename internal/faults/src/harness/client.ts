import { setTimeout as sleep } from 'node:timers/promises'
import { type Baton, BatonError, connect } from '@baton-lock/client'
import type { Policy } from '@baton-lock/core'
import { seededRandom } from '@baton-lock/store/conformance/random'
import { type Choices, drawCall } from '../calls/call.ts'
import { type Performer, perform } from '../calls/perform.ts'
import { Journal, machineMs } from '../history/journal.ts'

/*
 * One client process of the harness: several tasks that call the SDK over and over, until stdin ends. Then it finishes
 * what it has begun, and exits 0; anything else is a defect.
 */
export interface ClientConfig {
  readonly name: string
  readonly node: string
  readonly urls: readonly string[]
  /** No servers: it opens the store itself. */
  readonly library?: { readonly store: string; readonly policy: Policy }
  /** The URL of the fenced storage. */
  readonly storage: string
  readonly journal: string
  readonly seed: number
  readonly tasks: number
  readonly choices: Choices
  readonly ttlMs: number
  /** The mean pause between two calls of a task. */
  readonly thinkMs: number
}

const BEAT_MS = 50
/** Later than this, and a client cannot be said to have run: well below the margin that it has to notice a loss in. */
const STALL_MS = 80
const SETTLE_MS = 20
const TICK_MS = 0.001

const config: ClientConfig = JSON.parse(process.argv[2]!)
const journal = new Journal(config.journal)
const note = (what: 'paused' | 'resumed' | 'reconnected', atMs = machineMs()) =>
  journal.write({ kind: 'client', nowMs: atMs, client: config.name, what }, atMs)

/** A process that is stopped, or starved, cannot say so but afterwards. */
function watchForStalls(): void {
  let lastMs = machineMs()
  let resumedMs = 0
  setInterval(() => {
    const nowMs = machineMs()
    if (nowMs - lastMs > BEAT_MS + STALL_MS) {
      // One stall may follow another at once: it begins when the one before it has been noted to be over.
      note('paused', Math.max(lastMs, resumedMs + TICK_MS))
      // All timers that are due have run by then.
      resumedMs = nowMs + SETTLE_MS
      note('resumed', resumedMs)
    }
    lastMs = nowMs
  }, BEAT_MS).unref()
}

async function openBaton(signal: AbortSignal): Promise<Baton | undefined> {
  const onNotice = (notice: string) => {
    if (notice === 'Baton answers again') note('reconnected')
  }
  const options = { node: config.node, ttlMs: config.ttlMs, onNotice }
  if (!config.library) return connect(config.urls, options)
  // Twice as much to load as all the rest: not for those that are killed and started all the time, and have a server.
  const { libraryClient, openLibraryStore } = await import('./library.ts')
  const store = await openLibraryStore({ ...config.library, journal: config.journal }, signal)
  return store && libraryClient(store, options)
}

async function write(key: string, fence: number): Promise<boolean> {
  const answer = await fetch(config.storage, { method: 'POST', body: JSON.stringify({ key, fence }) })
  return ((await answer.json()) as { accepted: boolean }).accepted
}

async function main(): Promise<void> {
  watchForStalls()
  const stopping = new AbortController()
  process.stdin.resume().on('end', () => stopping.abort())
  const baton = await openBaton(stopping.signal)
  if (!baton) process.exit(0)
  // Whoever had this node id before is dead.
  await baton.references.dropNode(config.node).catch((error) => {
    if (!(error instanceof BatonError)) throw error
  })
  const performer: Performer = {
    name: config.name,
    baton,
    nowMs: machineMs,
    pause: (ms) => sleep(ms),
    abortAfter: (ms) => AbortSignal.timeout(ms),
    write: ({ operation, resource }, fence) => write(`${operation} ${resource}`, fence),
    record: (record) => journal.write(record),
  }
  let calls = 0
  const task = async (index: number) => {
    const random = seededRandom(config.seed * 1_009 + index)
    while (!stopping.signal.aborted) {
      await perform(performer, drawCall(random, config.choices), ++calls)
      const thinkMs = random.next() * 2 * config.thinkMs
      await sleep(thinkMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  await Promise.all(Array.from({ length: config.tasks }, (_, index) => task(index)))
  await baton.close()
  journal.close()
  // Connections to the storage are kept alive for a while.
  process.exit(0)
}

await main()
