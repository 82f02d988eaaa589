const cleanups = new Set<() => void>()
let isListening = false

/** Registers a cleanup for the exit of this process; the last registered runs first. Returns how to take it back. */
export function atExit(cleanup: () => void): () => void {
  if (!isListening) process.on('exit', cleanUp)
  isListening = true
  cleanups.add(cleanup)
  return () => void cleanups.delete(cleanup)
}

function cleanUp(): void {
  for (const cleanup of [...cleanups].reverse()) {
    try {
      cleanup()
    } catch {
      // A failure must not keep the others from running.
    }
  }
}
