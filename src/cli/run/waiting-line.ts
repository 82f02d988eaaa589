import type { Output } from '../context.ts'
import { formatDuration } from '../duration.ts'
import { CLEAR_LINE } from '../print/paint.ts'

/** On a terminal: one line with the place in line and the time waited, gone when the waiting is over. */
export class WaitingLine {
  readonly #output: Output
  readonly #what: string
  readonly #startMs = Date.now()
  #position: number | undefined
  #tick: NodeJS.Timeout | undefined

  constructor(output: Output, what: string) {
    this.#output = output
    this.#what = what
  }

  moved(position: number): void {
    if (!this.#output.isTTY) return
    this.#position = position
    this.#tick ??= setInterval(() => this.#draw(), 1_000)
    this.#draw()
  }

  end(): void {
    if (this.#tick === undefined) return
    clearInterval(this.#tick)
    this.#tick = undefined
    this.#output.write(CLEAR_LINE)
  }

  #draw(): void {
    const text = waitingText({ what: this.#what, position: this.#position, waitedMs: Date.now() - this.#startMs })
    // A line that wraps could not be cleared again.
    this.#output.write(CLEAR_LINE + text.slice(0, (this.#output.columns || 80) - 1))
  }
}

export function waitingText(waiting: { what: string; position: number | undefined; waitedMs: number }): string {
  const place = waiting.position === 1 ? 'next in line' : `place ${waiting.position} in line`
  return `waiting ${formatDuration(waiting.waitedMs)}, ${place}: ${waiting.what}`
}
