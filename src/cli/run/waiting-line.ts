import type { Json } from '../../core/index.ts'
import type { Output } from '../context.ts'
import { formatDuration } from '../duration.ts'
import { CLEAR_LINE } from '../print/paint.ts'
import { oneLine } from '../print/text.ts'

/** Off a terminal it says so often that it still waits. */
const REMIND_MS = 60_000

/**
 * On a terminal: one line with the place in line, the time waited and how far the holder is, gone when the waiting is over.
 * Off it: a line when the waiting begins, and then every minute.
 */
export class WaitingLine {
  readonly #output: Output
  readonly #what: string
  /** Of this waiting: a leader that has lost waits anew. */
  #startMs = Date.now()
  #position: number | undefined
  #progress: Json | undefined
  #tick: NodeJS.Timeout | undefined

  constructor(output: Output, what: string) {
    this.#output = output
    this.#what = what
  }

  moved(position: number): void {
    if (this.#tick === undefined) this.#startMs = Date.now()
    this.#position = position
    if (this.#output.isTTY) {
      this.#tick ??= setInterval(() => this.#draw(), 1_000)
      this.#draw()
    } else if (this.#tick === undefined) {
      this.#tick = setInterval(() => this.#say(), REMIND_MS)
      this.#say()
    }
  }

  progressed(progress: Json): void {
    this.#progress = progress
    if (this.#tick !== undefined && this.#output.isTTY) this.#draw()
  }

  end(): void {
    if (this.#tick === undefined) return
    clearInterval(this.#tick)
    this.#tick = undefined
    if (this.#output.isTTY) this.#output.write(CLEAR_LINE)
  }

  #say(): void {
    this.#output.write(`baton: ${this.#text()}\n`)
  }

  #draw(): void {
    // A line that wraps could not be cleared again.
    this.#output.write(CLEAR_LINE + this.#text().slice(0, (this.#output.columns || 80) - 1))
  }

  #text(): string {
    const waitedMs = Date.now() - this.#startMs
    return waitingText({ what: this.#what, position: this.#position, progress: this.#progress, waitedMs })
  }
}

interface Waiting {
  readonly what: string
  readonly position: number | undefined
  readonly progress?: Json | undefined
  readonly waitedMs: number
}

export function waitingText({ what, position, progress, waitedMs }: Waiting): string {
  const place = position === 1 ? 'next in line' : `place ${position} in line`
  const far = progress === undefined ? '' : ` (${progressText(progress)})`
  const soFar = waitedMs < 1_000 ? '' : ` ${formatDuration(waitedMs)}`
  return `waiting${soFar}, ${place}: ${what}${far}`
}

/** A text as it is; anything else as JSON. */
function progressText(progress: Json): string {
  return oneLine(typeof progress === 'string' ? progress : JSON.stringify(progress))
}
