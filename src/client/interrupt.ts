/** Waits, one at a time, that can be cut short: what a signal would do, without one for every wait. */
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

  /** Tells the reason when it is stopped, in place of who was told before. */
  watch(tell: (reason: unknown) => void): void {
    this.#reject = tell
  }

  /** The promise, or the reason as soon as it is stopped: nothing that is given up is waited for. */
  wait<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#stopped) reject(this.#stopped.reason)
      this.#reject = reject
      promise.then(resolve, reject)
    })
  }

  /** Until it is called back; `begin` returns how to call that off. */
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
