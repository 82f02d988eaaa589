/** The one monotonic clock that all processes of a machine share, in milliseconds. */
export const sharedNowMs = () => Number(process.hrtime.bigint()) / 1e6

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Resolves with the first truthy result of `isSo`; rejects after `withinMs`. */
export async function until(isSo, { what, withinMs = 60_000, everyMs = 5 }) {
  const end = performance.now() + withinMs
  for (;;) {
    const value = await isSo()
    if (value) return value
    if (performance.now() > end) throw new Error(`${what}: not within ${withinMs / 1_000} s`)
    await pause(everyMs)
  }
}
