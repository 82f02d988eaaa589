import type { Place } from '@baton-lock/protocol'
import type { ClientParts, Closable } from '../client-parts.ts'
import { Interrupt } from '../requests/interrupt.ts'
import { within } from '../requests/sender.ts'
import type { Session, SessionUser } from '../session/session.ts'

/** A session that counts as lost here may live on at the server for a while, so its asks are cancelled for this long. */
const AFTER_LOSS_MS = 10_000

/**
 * Cancels an ask in the background. Nobody will use a grant that it may have got, and its session lives on and would keep that
 * grant. So it is tried until it is acknowledged, or until the session is lost, and the grant with it.
 */
export function cancelAsk(
  { clock, open, sender }: ClientParts,
  { place, hold, session }: { place: Place; hold: string; session: Session },
): void {
  const interrupt = new Interrupt()
  const stop = () => interrupt.stop(new Error('no longer needed'))
  const isAlive = session.isAlive()
  const user: SessionUser = { onSessionLost: () => isAlive && stop() }
  const userAt = session.add(user)
  const closable: Closable = { close: stop }
  const openAt = open.add(closable)
  const leftMs = within(clock, isAlive ? Infinity : AFTER_LOSS_MS)
  sender
    .request<'cancel'>({ type: 'cancel', ...place, hold }, { leftMs, interrupt })
    .catch(() => {})
    .finally(() => {
      open.remove(closable, openAt)
      session.remove(user, userAt)
    })
}
