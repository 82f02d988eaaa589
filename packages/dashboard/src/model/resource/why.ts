import type { QueueWait, ResourceView, WaitReason } from '@baton-lock/core'

/** A view, and when it was read by the clock of the server. */
export interface Row {
  readonly view: ResourceView
  readonly readAtMs: number
}

/** Why those who wait do, as it was when the row was read, with the times of now. */
export function whyNow({ view, readAtMs }: Row, nowMs: number): readonly QueueWait[] {
  const passedMs = Math.max(0, nowMs - readAtMs)
  if (!view.why || passedMs === 0) return view.why ?? []
  return view.why.map((queue) => ({ ...queue, reasons: queue.reasons.map((reason) => aged(reason, passedMs)) }))
}

function aged(reason: WaitReason, passedMs: number): WaitReason {
  const left = (ms: number) => Math.max(0, ms - passedMs)
  switch (reason.why) {
    case 'held':
      return { ...reason, forMs: reason.forMs + passedMs }
    case 'cycle':
      return { ...reason, forMs: reason.forMs + passedMs }
    case 'unclaimed':
      return { ...reason, passesOnInMs: left(reason.passesOnInMs) }
    case 'silent':
      return { ...reason, forMs: reason.forMs + passedMs, expiresInMs: left(reason.expiresInMs) }
    case 'paused':
      return { ...reason, forMs: left(reason.forMs) }
  }
}

/** How long the first in line has waited; nothing where nobody does. */
export function longestWaitMs({ view }: Row, nowMs: number): number | undefined {
  const [first] = view.waiters
  return first && Math.max(0, nowMs - first.sinceMs)
}
