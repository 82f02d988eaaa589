import { setTimeout as delay } from 'node:timers/promises'

/** One beat for any number of changes since the beat before, and never two within `pauseMs`. */
export async function* beats(changes: AsyncIterable<unknown>, pauseMs: number): AsyncGenerator<void> {
  let changed = false
  let ended = false
  let wake = () => {}
  const reading = (async () => {
    try {
      for await (const _ of changes) {
        changed = true
        wake()
      }
    } finally {
      ended = true
      wake()
    }
  })()
  // It is awaited below; until then a failure must not count as unhandled.
  reading.catch(() => {})
  while (changed || !ended) {
    if (!changed) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      continue
    }
    changed = false
    yield
    await delay(pauseMs)
  }
  await reading
}
