const cleanups = new Set<() => void>()
let isListening = false

/** To be done if this process ends before it is taken back: what was registered last comes first. Returns how to take it back. */
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
      // The others have their turn all the same.
    }
  }
}
