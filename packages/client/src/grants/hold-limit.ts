import type { ClientClock } from '../clock.ts'

/** How long a grant may be held. */
export interface HoldLimits {
  readonly maxHoldMs: number
  readonly graceMs: number | undefined
}

/** Calls back when a grant was held for too long, and again when the grace after that is over. Returns a function that stops it. */
export function watchHold(
  clock: ClientClock,
  { maxHoldMs, graceMs }: HoldLimits,
  { onTooLong, onGraceOver }: { onTooLong(): void; onGraceOver(): void },
): () => void {
  let cancel = clock.after(maxHoldMs, () => {
    onTooLong()
    if (graceMs !== undefined) cancel = clock.after(graceMs, onGraceOver)
  })
  return () => cancel()
}
