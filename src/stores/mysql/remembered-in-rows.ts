import type { Remembered } from '../../core/index.ts'
import { NotLoaded } from './loaded.ts'

/** What was read of what is remembered: by name, and nothing where there was none. */
export type LoadedMemories<Value> = ReadonlyMap<string, Value | undefined>

/**
 * What is remembered under the names that were read, and what steps have changed of it. Whatever is due counts as
 * forgotten; its rows are swept away by and by.
 */
export class RememberedInRows<Value extends { readonly untilMs: number }> implements Remembered<Value> {
  readonly #loaded: LoadedMemories<Value>
  readonly changes = new Map<string, Value | undefined>()
  /** Until when something is remembered, whatever it is. */
  untilMs: number
  #nowMs = 0

  constructor(untilMs: number, loaded: LoadedMemories<Value>) {
    this.untilMs = untilMs
    this.#loaded = loaded
  }

  /** Nothing or something: nobody counts them. */
  get size(): number {
    return this.untilMs > this.#nowMs ? 1 : 0
  }

  get(name: string): Value | undefined {
    const value = this.changes.has(name) ? this.changes.get(name) : this.#read(name)
    return value && value.untilMs > this.#nowMs ? value : undefined
  }

  set(name: string, value: Value): void {
    this.changes.set(name, value)
    this.untilMs = Math.max(this.untilMs, value.untilMs)
  }

  delete(name: string): void {
    this.changes.set(name, undefined)
  }

  forget(nowMs: number): void {
    this.#nowMs = nowMs
  }

  nextDeadlineMs(): number | undefined {
    return this.size > 0 ? this.untilMs : undefined
  }

  #read(name: string): Value | undefined {
    if (this.untilMs > this.#nowMs && !this.#loaded.has(name)) throw new NotLoaded({ what: 'remembered', name })
    return this.#loaded.get(name)
  }
}
