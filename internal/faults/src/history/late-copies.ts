import type { ChangeRecord, History, StepRecord } from './history.ts'
import type { Violation } from './violation.ts'

/**
 * A call that has returned has no effect any more, whichever copies of its requests are still under way: a server may have
 * been paused with one, and go on when its client has long asked another server and done something newer. So every step
 * that changes references, forgets a success or revokes a grant belongs to a call that is not done. The history has to be
 * in the order in which things happened.
 */
export function checkLateCopies(history: History): Violation[] {
  const open = new Map<string, ChangeRecord>()
  const violations: Violation[] = []
  for (const record of history) {
    if (record.kind === 'change') {
      const name = `${record.client} ${record.call}`
      if (record.what === 'began') open.set(name, record)
      else open.delete(name)
    } else if (record.kind === 'step' && hasEffect(record)) {
      if ([...open.values()].some((call) => mayCause(call, record))) continue
      const { resource, nowMs, command } = record
      const what = `at ${(nowMs / 1_000).toFixed(3)}s: ${command.type} took effect, and every call that sent it had returned`
      violations.push({ invariant: 14, resource, what })
    }
  }
  return violations
}

function hasEffect({ command, reply, events, facts }: StepRecord): boolean {
  // The adversary makes no calls.
  if (facts?.actsFor) return false
  switch (command.type) {
    case 'add-reference':
      return events.some(({ event }) => event.type === 'referenced')
    case 'release-reference':
      return events.some(({ event }) => event.type === 'dereferenced')
    case 'forget':
      return reply.status === 'forgotten' && reply.kept
    case 'revoke':
      return events.some(({ event }) => event.type === 'ended' && event.outcome.outcome === 'revoked')
    default:
      return false
  }
}

function mayCause(call: ChangeRecord, { resource, command }: StepRecord): boolean {
  const isHere = call.resource === resource
  switch (command.type) {
    case 'add-reference':
      return call.type === command.type && isHere && call.node === command.node
    case 'release-reference':
      return call.node === command.node && (call.type === 'drop-node' || (call.type === command.type && isHere))
    case 'forget':
    case 'revoke':
      if (call.type === 'drop-node') return command.type === 'forget'
      return call.type === command.type && isHere && call.operation === command.operation
    default:
      return false
  }
}
