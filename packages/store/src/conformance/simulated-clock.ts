import type { Clock } from '../store.ts'

/** Time that passes only when told to. Clock and timers in one, so that what is due is called in order. */
export class SimulatedClock implements Clock {
  #nowMs: number
  #next = 0
  readonly #timers = new Map<number, { readonly atMs: number; readonly callback: () => void }>()

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, callback: () => void): () => void {
    const id = this.#next++
    this.#timers.set(id, { atMs: this.#nowMs + delayMs, callback })
    return () => this.#timers.delete(id)
  }

  /** Lets time pass, calling what falls due on the way, each at its own moment and followed by what it sets off. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs
    await settled()
    for (let due = this.#dueBy(untilMs); due !== undefined; due = this.#dueBy(untilMs)) {
      const { atMs, callback } = this.#timers.get(due)!
      this.#timers.delete(due)
      this.#nowMs = Math.max(this.#nowMs, atMs)
      callback()
      await settled()
    }
    this.#nowMs = untilMs
  }

  /** Time jumps without anything being called: what a paused process sees. */
  jump(byMs: number): void {
    this.#nowMs += byMs
  }

  #dueBy(untilMs: number): number | undefined {
    let first: number | undefined
    for (const [id, { atMs }] of this.#timers) {
      if (atMs <= untilMs && (first === undefined || atMs < this.#timers.get(first)!.atMs)) first = id
    }
    return first
  }
}

/** Resolves once everything that is ready to run has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
