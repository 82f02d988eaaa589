import type { Place } from './place.ts'
import type { Session, SessionUser } from './session.ts'
import type { Closable, Wiring } from './wiring.ts'

const AFTER_LOSS_MS = 10_000

/**
 * Cancels an ask in the background, whatever has become of it: nobody will run what it may have been granted. The
 * session lives on meanwhile and would keep a hold that nobody knows of, so it is tried until it is acknowledged or
 * the session is gone, and the hold with it.
 */
export function cancelAsk(
  wiring: Wiring,
  { place, hold, session }: { place: Place; hold: string; session: Session },
): void {
  const stop = new AbortController()
  const alive = session.isAlive()
  const user: SessionUser = { onSessionLost: () => alive && stop.abort() }
  const userAt = session.add(user)
  const closable: Closable = { close: () => stop.abort() }
  const openAt = wiring.open.add(closable)
  wiring.contact
    .retry<'cancel'>(
      { type: 'cancel', ...place, hold },
      { patienceMs: alive ? Infinity : AFTER_LOSS_MS, signal: stop.signal },
    )
    .catch(() => {})
    .finally(() => {
      wiring.open.remove(closable, openAt)
      session.remove(user, userAt)
    })
}
