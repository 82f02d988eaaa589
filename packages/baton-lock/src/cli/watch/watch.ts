import { setTimeout as delay } from 'node:timers/promises'
import { type Baton, type ResourceStatus, UnavailableError } from '@baton-lock/client'
import { formatDuration } from '@baton-lock/protocol'
import type { CliContext, Output } from '../context.ts'
import { paintFor } from '../print/say.ts'
import { drawPicture, type Picture } from './table.ts'

interface WatchOptions {
  readonly namespace: string | undefined
  /** Only this one. */
  readonly resource: string | undefined
  /** Where Baton is, for the heading. */
  readonly place: string
  /** The last notice of the SDK, which would spoil the screen if it were printed. */
  readonly notice: () => string | undefined
}

const READ_EVERY_MS = 1_000
/** Reading takes at most a tenth of the time, however many resources there are. */
const PAUSE_FACTOR = 9
/** The screen says so if an answer takes longer than this. */
const LATE_MS = 2_000

/** Shows a table that refreshes in place until the signal. If the server goes away, the table stays and says so. */
export async function watchOnTerminal(
  baton: Baton,
  { namespace, resource, place, notice }: WatchOptions,
  { stdout, env }: CliContext,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
  const read = () => Promise.race([stopped, statusesOf(baton, namespace, resource)])
  // If no server answers at the beginning, the command ends as any other one does.
  let statuses = await read()
  if (!statuses) return
  let readAtMs = performance.now()
  let pauseMs = READ_EVERY_MS
  let error: Error | undefined
  const draw = (): string[] => {
    const silentMs = performance.now() - readAtMs
    const away = error || silentMs > pauseMs + LATE_MS ? `no answer for ${formatDuration(silentMs)}` : undefined
    const trouble = away && error ? `${away}: ${error.message}` : (away ?? notice())
    const picture: Picture = { place, namespace, statuses: statuses!, isSingle: resource !== undefined, trouble }
    return drawPicture(picture, { columns: stdout.columns || 80, rows: stdout.rows || 24 }, paintFor(stdout, env))
  }
  const screen = new Screen(stdout, draw)
  screen.open()
  const ticks = setInterval(() => screen.draw(), READ_EVERY_MS)
  try {
    while (!signal.aborted) {
      await delay(pauseMs, undefined, { signal }).catch(() => {})
      const beganAtMs = performance.now()
      try {
        statuses = (await read()) ?? statuses
        readAtMs = performance.now()
        pauseMs = Math.max(READ_EVERY_MS, PAUSE_FACTOR * (readAtMs - beganAtMs))
        error = undefined
      } catch (cause) {
        if (!(cause instanceof UnavailableError)) throw cause
        error = cause
      }
      screen.draw()
    }
  } finally {
    clearInterval(ticks)
    screen.close()
  }
}

async function statusesOf(
  baton: Baton,
  namespace: string | undefined,
  resource: string | undefined,
): Promise<readonly ResourceStatus[]> {
  if (resource !== undefined) return [await baton.status(resource, { namespace })]
  const statuses: ResourceStatus[] = []
  for await (const status of baton.list({ namespace, active: true })) statuses.push(status)
  return statuses
}

/** The alternate screen, without a cursor and without line wrapping; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** The alternate screen of a terminal. However the process ends or is suspended, the terminal is left as it was. */
class Screen {
  readonly #output: Output
  readonly #lines: () => readonly string[]
  #isOpen = false

  constructor(output: Output, lines: () => readonly string[]) {
    this.#output = output
    this.#lines = lines
  }

  open(): void {
    this.#enter()
    this.#output.on('resize', this.#draw)
    process.on('exit', this.#leave)
    process.on('SIGTSTP', this.#suspend)
    process.on('SIGCONT', this.#enter)
  }

  /** Draws every row again: keys that are pressed meanwhile are echoed by the terminal. */
  draw(): void {
    if (!this.#isOpen) return
    const lines = this.#lines()
    const rows = Array.from({ length: this.#output.rows || 24 }, (_, row) => `\u001b[2K${lines[row] ?? ''}`)
    this.#output.write(`\u001b[H${rows.join('\r\n')}\u001b[H`)
  }

  close(): void {
    this.#leave()
    this.#output.off('resize', this.#draw)
    process.off('exit', this.#leave)
    process.off('SIGTSTP', this.#suspend)
    process.off('SIGCONT', this.#enter)
  }

  readonly #draw = () => this.draw()

  readonly #enter = () => {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#output.write(ENTER)
    this.draw()
  }

  readonly #leave = () => {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#output.write(LEAVE)
  }

  readonly #suspend = () => {
    this.#leave()
    process.kill(process.pid, 'SIGSTOP')
  }
}
