import type { Json } from '@baton-lock/core'
import { formatDuration, harmlessJson, oneLine } from '@baton-lock/protocol'
import type { Output } from '../context.ts'
import { clearLine, say } from '../print/say.ts'

/** Off a terminal it says so often that it still waits. */
const REMIND_MS = 60_000

/**
 * On a terminal: one line with the place in line, the time waited and how far the holder is, gone when the waiting is over.
 * Off it: a line when the waiting begins, and then every minute.
 */
export class WaitingLine {
  readonly #output: Output
  readonly #what: string
  /** When this wait began. A leader that loses its grant waits again. */
  #startMs = Date.now()
  #position: number | undefined
  #holder: Holder | undefined
  #progress: Json | undefined
  #tick: NodeJS.Timeout | undefined

  constructor(output: Output, what: string) {
    this.#output = output
    this.#what = what
  }

  moved(position: number, holder?: Holder): void {
    if (this.#tick === undefined) this.#startMs = Date.now()
    this.#position = position
    this.#holder = holder
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
    if (this.#output.isTTY) clearLine(this.#output)
  }

  #say(): void {
    say(this.#output, `baton: ${this.#text()}`)
  }

  #draw(): void {
    // A line that wraps could not be cleared again.
    clearLine(this.#output)
    this.#output.write(this.#text().slice(0, (this.#output.columns || 80) - 1))
  }

  #text(): string {
    const nowMs = Date.now()
    const holder = this.#holder && { node: this.#holder.node, heldMs: nowMs - this.#holder.sinceMs }
    const waitedMs = nowMs - this.#startMs
    return waitingText({ what: this.#what, position: this.#position, holder, progress: this.#progress, waitedMs })
  }
}

/** The node that holds what is waited for, and since when by the clock of this machine. */
export interface Holder {
  readonly node: string
  readonly sinceMs: number
}

interface Waiting {
  readonly what: string
  readonly holder?: { readonly node: string; readonly heldMs: number } | undefined
  readonly position: number | undefined
  readonly progress?: Json | undefined
  readonly waitedMs: number
}

export function waitingText({ what, position, holder, progress, waitedMs }: Waiting): string {
  const place = position === 1 ? 'next in line' : `place ${position} in line`
  const held = holder === undefined ? '' : `, held by ${holder.node} (${formatDuration(holder.heldMs)})`
  const far = progress === undefined ? '' : ` (${progressText(progress)})`
  const soFar = waitedMs < 1_000 ? '' : ` ${formatDuration(waitedMs)}`
  return oneLine(`waiting${soFar}, ${place}: ${what}${held}${far}`)
}

/** A text as it is; anything else as JSON. */
function progressText(progress: Json): string {
  return typeof progress === 'string' ? oneLine(progress).trim() : harmlessJson(progress)
}
