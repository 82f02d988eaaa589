import type { TimedRecord } from '../history/journal.ts'
import type { Violation } from '../history/violation.ts'

/** From when to when a server was stopped, by the machine's clock. */
export interface Stop {
  readonly fromMs: number
  readonly toMs: number
}

/** A lease that has run out may last so much longer. */
const LATE_MS = 1_000

/**
 * Sessions of a server that ended too late: whoever keeps the server busy must not keep locks in the hands of the dead. Time in
 * which the server was stopped does not count.
 */
export function lateEnds(server: readonly TimedRecord[], stops: readonly Stop[]): Violation[] {
  const leases = new Map<string, { readonly renewedMs: number; readonly ttlMs: number }>()
  const violations: Violation[] = []
  for (const record of server) {
    if (record.kind === 'session' && (record.what === 'opened' || record.what === 'renewed'))
      leases.set(record.session, { renewedMs: record.monoMs, ttlMs: record.ttlMs })
    if (record.kind !== 'step') continue
    // After a restart everybody who was alive has one more ttl.
    if (record.command.type === 'recover') leases.clear()
    if (record.command.type !== 'session-lost') continue
    const { session } = record.command
    const lease = leases.get(session)
    leases.delete(session)
    if (!lease) continue
    const { renewedMs, ttlMs } = lease
    const lateMs = record.monoMs - renewedMs - ttlMs - stoppedMs(stops, renewedMs, record.monoMs)
    if (lateMs > LATE_MS) {
      const what = `session ${session} ended ${Math.round(lateMs)} ms after its time`
      violations.push({ invariant: 10, resource: record.resource, what })
    }
  }
  return violations
}

function stoppedMs(stops: readonly Stop[], fromMs: number, toMs: number): number {
  const within = stops.map((stop) => Math.min(stop.toMs, toMs) - Math.max(stop.fromMs, fromMs))
  return within.reduce((sum, ms) => sum + Math.max(0, ms), 0)
}
