import type { Timing } from '@baton-lock/store/timing'

/** A timer that is so late means that this process has stood still. */
const STALL_MS = 100
const LISTEN_MS = 100

/** Calls back once so much time has passed. Where this process has stood still meanwhile, it first listens to what has come in the meantime. */
export function afterListening(timing: Timing, ms: number, callback: () => void): () => void {
  const dueMs = timing.monoMs() + ms
  let cancel = timing.after(ms, () => {
    if (timing.monoMs() < dueMs + STALL_MS) callback()
    else cancel = timing.after(LISTEN_MS, callback)
  })
  return () => cancel()
}
