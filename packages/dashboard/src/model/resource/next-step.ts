import type { QueueWait, WaiterView, WaitReason } from '@baton-lock/core'
import { formatDuration } from '@baton-lock/protocol/text/duration'
import { oneLine } from '@baton-lock/protocol/text/harmless'

interface NextStepFacts {
  /** The first in line of all queues. */
  readonly waiters: readonly WaiterView[]
  /** What the policy has those who wait do then; nothing where it is not known. */
  readonly onSuccess?: 'skip' | 'next' | undefined
}

/**
 * What comes next of itself, for whoever has to decide whether to do something. From the facts alone; nothing where they do not say.
 */
export function nextStep(
  { operation, reasons, waiting }: QueueWait,
  { waiters, onSuccess }: NextStepFacts,
): string | undefined {
  const first = waiters.find((waiter) => waiter.operation === operation)
  const next = first ? oneLine(first.node) : 'the next in line'
  const of = <Why extends WaitReason['why']>(why: Why) =>
    reasons.find((reason): reason is Extract<WaitReason, { why: Why }> => reason.why === why)
  if (of('cycle')?.certain) return 'Nothing comes next of itself: revoke one of the grants.'
  const unclaimed = of('unclaimed')
  if (unclaimed)
    return `If ${oneLine(unclaimed.node)} does not claim it within ${formatDuration(unclaimed.passesOnInMs)}, it passes to ${next}.`
  const silent = of('silent')
  if (silent)
    return `If ${oneLine(silent.node)} is gone, nothing has to be done: in ${formatDuration(silent.expiresInMs)} its lease ends, and ${next} is granted. If it renews, it goes on.`
  const held = of('held')
  if (held)
    return `When ${oneLine(held.node)} succeeds, ${followers(onSuccess, { next, waiting })}; when it fails, ${next} is next.`
  const paused = of('paused')
  if (paused) return `In ${formatDuration(paused.forMs)} ${next} is granted, as attempt ${paused.attempt}.`
  return undefined
}

function followers(
  onSuccess: NextStepFacts['onSuccess'],
  { next, waiting }: { readonly next: string; readonly waiting: number },
): string {
  if (onSuccess === undefined) return 'those who wait skip or follow, as the policy says'
  if (onSuccess === 'next') return `${next} is granted`
  return waiting === 1 ? `${next} skips` : `the ${waiting} who wait skip, but for those of another revision`
}
