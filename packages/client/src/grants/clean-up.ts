import type { RequestType } from '@baton-lock/protocol'
import type { ClientParts, Closable } from '../client-parts.ts'
import type { InputOf } from '../connection/transport.ts'
import { isOwnLoss } from '../loss.ts'
import { Interrupt } from '../requests/interrupt.ts'
import type { Session, SessionUser } from '../session/session.ts'

/** Whoever waits for what is given back has to wait for so long at most once a server answers again. */
const PAUSE_MAX_MS = 1_000

/**
 * Ends what nobody uses any more, in the background: a request that was given up, or a grant that counts as lost by the clocks of this
 * client. A server that was away for a while keeps both for the rest of their lease, and others would wait for them. So it is tried until
 * it is acknowledged or refused, the server has ended the session, or the client is closed.
 */
export function cleanUp<Type extends RequestType>(
  { open, sender }: ClientParts,
  session: Session,
  request: InputOf<Type>,
): void {
  const interrupt = new Interrupt()
  const stop = () => interrupt.stop(new Error('no longer needed'))
  const user: SessionUser = {
    onSessionLost: (cause) => {
      if (!isOwnLoss(cause)) stop()
    },
  }
  const userAt = session.add(user)
  const closable: Closable = { close: stop }
  const openAt = open.add(closable)
  sender
    .request<Type>(request, { leftMs: () => Infinity, pauseMaxMs: PAUSE_MAX_MS, interrupt })
    .catch(() => {})
    .finally(() => {
      open.remove(closable, openAt)
      session.remove(user, userAt)
    })
}
