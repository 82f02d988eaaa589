import { performance } from 'node:perf_hooks'
import type { Clock } from '@baton-lock/store/store'

/** A longer interval between two beats is a stall of the process, not passed time. */
const STALL_MS = 1_000
const BEAT_MS = 200
/** How much of a stall in which the process was working does not count as time. */
const OWN_STALL_MS = 1_000
/** New connections are accepted in one turn of the event loop, and their data is read in the next. */
const INPUT_TURNS = 3

/** The sources of a clock, in monotonic milliseconds. */
interface ClockSources {
  readonly rawMs: () => number
  /** CPU time of the process, to tell a stopped process from a busy one. Default: 0. */
  readonly cpuMs?: () => number
}

/**
 * A clock that stops while the process is stopped. A server that was stopped for a minute has not read the renewals
 * of that minute, so no lease may expire because of it. While the process is busy, time goes on except for one
 * second; otherwise clients that keep it busy would keep the locks of dead clients alive. What has arrived is read
 * before anything expires (`onCatchUp`).
 */
export class SteadyClock implements Clock {
  readonly #rawMs: () => number
  readonly #cpuMs: () => number
  #seenMs: number
  #seenCpuMs: number
  /** Time of busy stalls since the last beat that did not count. */
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

  /** The number of times that time went on after a busy stall. */
  get jumps(): number {
    return this.#jumps
  }

  nowMs(): number {
    const rawMs = this.#rawMs()
    if (rawMs - this.#seenMs > STALL_MS) this.#stalled(rawMs)
    // Times that were returned between the last beat and the stall stay valid: the clock waits until it has caught
    // up.
    this.#toldMs = Math.max(this.#toldMs, rawMs - this.#stalledMs)
    return this.#toldMs
  }

  /** To be called regularly: a long interval between two beats is how a stall is noticed. */
  beat(): void {
    this.nowMs()
    this.#seenMs = this.#rawMs()
    this.#seenCpuMs = this.#cpuMs()
    this.#ownMs = 0
  }

  onCatchUp(listener: (isCatchingUp: boolean) => void): void {
    this.#listeners.push(listener)
  }

  /** Everything that had arrived at this number of jumps has been read. */
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

/** Milliseconds since this process started. */
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
