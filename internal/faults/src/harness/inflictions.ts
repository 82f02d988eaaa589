import type { Random } from '@baton-lock/store/conformance/random'
import type { Stop } from './late-ends.ts'
import { sleep } from './link.ts'

/** Undoes a fault that is not over by itself. */
export type Damage = (() => void) | undefined

/** The faults that are under way: counted, undone in time, and all of them at the end. */
export class Inflictions {
  readonly counts: Record<string, number> = {}
  /** When a server was stopped. */
  readonly stops: Stop[] = []
  /** What should have come up again, and did not. */
  readonly failures: string[] = []
  readonly #undo = new Set<() => void>()
  readonly #under = new Set<Promise<void>>()
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  /** Does it over and over, after pauses that are drawn; one that takes its time is waited for. */
  repeat(pauseMs: () => number, hurt: () => void | Promise<void>): void {
    this.follow(this.#repeat(pauseMs, hurt))
  }

  count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1
  }

  inflict(name: string, damage: () => Damage, forMs: number): void {
    this.count(name)
    const undo = damage()
    if (!undo) return
    const once = () => {
      if (this.#undo.delete(once)) undo()
    }
    this.#undo.add(once)
    setTimeout(once, forMs).unref()
  }

  /** After a while, or as soon as everything is to heal. */
  async later(waitMs: number, act: () => void | Promise<void>): Promise<void> {
    await this.#wait(waitMs)
    await act()
  }

  /** Is waited for before everything counts as healed. */
  follow(work: Promise<void>): void {
    const done = work.catch((error) => void this.failures.push(String(error))).finally(() => this.#under.delete(done))
    this.#under.add(done)
  }

  async heal(): Promise<void> {
    this.#isOver = true
    for (const undo of this.#undo) undo()
    // What is under way may have set more going.
    while (this.#under.size > 0) await Promise.all(this.#under)
  }

  async #repeat(pauseMs: () => number, hurt: () => void | Promise<void>): Promise<void> {
    for (;;) {
      await this.#wait(pauseMs())
      if (this.#isOver) return
      await hurt()
    }
  }

  async #wait(waitMs: number): Promise<void> {
    const atMs = Date.now() + waitMs
    for (let leftMs = waitMs; !this.#isOver && leftMs > 0; leftMs = atMs - Date.now()) await sleep(Math.min(20, leftMs))
  }
}

/** The pauses of what happens at any time, so often on average. */
export function atRandom(random: Random, everyMs: number): () => number {
  return () => -Math.log(1 - random.next()) * everyMs
}

/** Anything between the two. */
export function within(random: Random, [from, to]: readonly [number, number]): number {
  return from + (to - from) * random.next()
}
