/** Ends waits early. Does what an `AbortSignal` does, for one wait at a time, without the cost of a signal for every wait. */
export class Interrupt {
  #stopped: { readonly reason: unknown } | undefined
  #reject: ((reason: unknown) => void) | undefined

  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  throwIfStopped(): void {
    if (this.#stopped) throw this.#stopped.reason
  }

  /** The first reason counts. */
  stop(reason: unknown): void {
    if (this.#stopped) return
    this.#stopped = { reason }
    this.#reject?.(reason)
  }

  /** Calls `reject` when it is stopped, or at once, in place of the function before. */
  watch(reject: (reason: unknown) => void): void {
    this.#reject = reject
    if (this.#stopped) reject(this.#stopped.reason)
  }

  /** Settles as the promise does, or rejects with the reason as soon as it is stopped. */
  wait<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.watch(reject)
      promise.then(resolve, reject)
    })
  }

  /** Waits for a callback; `begin` returns how to call it off. */
  async until(begin: (done: () => void) => () => void): Promise<void> {
    let cancel = () => {}
    try {
      await this.wait(
        new Promise<void>((resolve) => {
          cancel = begin(resolve)
        }),
      )
    } finally {
      cancel()
    }
  }
}
