const LINGER_MS = 500

/**
 * Calls back when the other side has had the time to read what it was told last. Closing a socket that has unread input resets
 * it, and the client may lose an answer that it has not read yet.
 */
export function afterLinger(callback: () => void): void {
  setTimeout(callback, LINGER_MS).unref()
}
