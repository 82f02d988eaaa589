import type { IncomingMessage } from 'node:http'

const LINGER_MS = 500

/**
 * Closing a socket that has unread input resets it, and the client may lose the answer before it reads it. So the end
 * is sent first and the rest left unread, and the reset follows a little later.
 */
export function closeUnread(request: IncomingMessage): void {
  const { socket } = request
  socket.destroySoon = () => {
    request.pause()
    socket.pause()
    socket.end()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}
