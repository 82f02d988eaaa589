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
    afterLinger(() => socket.destroy())
  }
}

/** When the other side has had the time to read what it was told last. */
export function afterLinger(callback: () => void): void {
  setTimeout(callback, LINGER_MS).unref()
}
