import assert from 'node:assert/strict'

const LIMIT_MS = 15_000
const LOOK_MS = 5

/** Waits for another process, or a database, to bring something about. Fails where that takes far too long. */
export async function becomes(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + LIMIT_MS; !(await isSo()); ) {
    assert.ok(performance.now() < endMs, `not so after ${LIMIT_MS} ms: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** Long enough for whatever does not have to wait. */
export function aWhile(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 300))
}
