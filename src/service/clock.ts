import { performance } from 'node:perf_hooks'
import type { Clock } from '../stores/store.ts'

/** A pause between two beats that is longer than this was a stall of the process, not the passing of time. */
const STALL_MS = 1_000
const BEAT_MS = 200
/** Of a stall that the process has worked through, this much is no time. */
const OWN_STALL_MS = 1_000
/** New connections are taken in one turn of the event loop, what they have sent is read in the next. */
const INPUT_TURNS = 3

/** What a clock is made of, in milliseconds that only go forward. */
interface ClockSources {
  readonly rawMs: () => number
  /** What the process has used of the processor, by which one that was stopped is told from one that worked. Default: nothing. */
  readonly cpuMs?: () => number
}

/**
 * Time that stands still while the process is stopped. A server that was stopped for a minute has not heard the renewals
 * that were sent to it meanwhile, so nobody's lease may run out for that minute. While it works time goes on, but for a
 * second: or whoever keeps it busy keeps every lock in the hands of the dead. What has arrived meanwhile is read before
 * anything runs out (`onCatchUp`).
 */
export class SteadyClock implements Clock {
  readonly #rawMs: () => number
  readonly #cpuMs: () => number
  #seenMs: number
  #seenCpuMs: number
  /** What stalls of its own have counted since the last beat. */
  #ownMs = 0
  #stalledMs = 0
  #toldMs = -Infinity
  #jumps = 0
  #isCatchingUp = false
  readonly #listeners: ((isCatchingUp: boolean) => void)[] = []

  constructor({ rawMs, cpuMs = () => 0 }: ClockSources) {
    this.#rawMs = rawMs
    this.#cpuMs = cpuMs
    this.#seenMs = rawMs()
    this.#seenCpuMs = cpuMs()
  }

  get isCatchingUp(): boolean {
    return this.#isCatchingUp
  }

  /** How often it has gone on after a stall in which it was not stopped. */
  get jumps(): number {
    return this.#jumps
  }

  nowMs(): number {
    const rawMs = this.#rawMs()
    if (rawMs - this.#seenMs > STALL_MS) this.#stalled(rawMs)
    // What was told between the last beat and the stall stands: time waits until it has caught up.
    this.#toldMs = Math.max(this.#toldMs, rawMs - this.#stalledMs)
    return this.#toldMs
  }

  /** To be called regularly: two beats far apart are how a stall shows. */
  beat(): void {
    this.nowMs()
    this.#seenMs = this.#rawMs()
    this.#seenCpuMs = this.#cpuMs()
    this.#ownMs = 0
  }

  onCatchUp(listener: (isCatchingUp: boolean) => void): void {
    this.#listeners.push(listener)
  }

  /** What had arrived when it had jumped so often has been read. */
  caughtUp(jumps: number): void {
    if (jumps === this.#jumps) this.#catchUp(false)
  }

  #stalled(rawMs: number): void {
    const pauseMs = rawMs - this.#seenMs
    const cpuMs = this.#cpuMs()
    const workedMs = Math.min(pauseMs, cpuMs - this.#seenCpuMs)
    const sparedMs = Math.min(workedMs, OWN_STALL_MS - this.#ownMs)
    this.#stalledMs += pauseMs - workedMs + sparedMs
    this.#ownMs += sparedMs
    this.#seenMs = rawMs
    this.#seenCpuMs = cpuMs
    if (workedMs <= sparedMs) return
    this.#jumps++
    this.#catchUp(true)
  }

  #catchUp(isCatchingUp: boolean): void {
    this.#isCatchingUp = isCatchingUp
    for (const listener of this.#listeners) listener(isCatchingUp)
  }
}

/** Since this process began. */
export const processMs = (): number => performance.now()

/** The monotonic clock of this process. */
export function systemClock(): Clock & { stop(): void } {
  const clock = new SteadyClock({
    rawMs: () => Math.floor(performance.timeOrigin + processMs()),
    cpuMs: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
  })
  const catchUp = (jumps: number, turns = INPUT_TURNS): void => {
    if (clock.jumps !== jumps) catchUp(clock.jumps)
    else if (turns === 0) clock.caughtUp(jumps)
    else setImmediate(() => catchUp(jumps, turns - 1))
  }
  const beat = setInterval(() => {
    clock.beat()
    if (clock.isCatchingUp) catchUp(clock.jumps)
  }, BEAT_MS)
  beat.unref()
  return {
    nowMs: () => clock.nowMs(),
    onCatchUp: (listener) => clock.onCatchUp(listener),
    stop: () => clearInterval(beat),
  }
}
