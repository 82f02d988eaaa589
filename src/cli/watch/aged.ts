import type { QueueWait, WaitReason } from '../../core/index.ts'

/** Why a queue waits, so many milliseconds after it was asked: what goes on has gone on, if nothing has happened since. */
export function aged(queue: QueueWait, elapsedMs: number): QueueWait {
  return { ...queue, reasons: queue.reasons.map((reason) => agedReason(reason, elapsedMs)) }
}

function agedReason(reason: WaitReason, elapsedMs: number): WaitReason {
  switch (reason.why) {
    case 'held':
      return { ...reason, forMs: reason.forMs + elapsedMs }
    case 'unclaimed':
      return { ...reason, passesOnInMs: reason.passesOnInMs - elapsedMs }
    case 'silent':
      return { ...reason, forMs: reason.forMs + elapsedMs, expiresInMs: reason.expiresInMs - elapsedMs }
    case 'paused':
      return { ...reason, forMs: reason.forMs - elapsedMs }
  }
}
