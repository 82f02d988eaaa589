import type { Processes, Started } from './processes.ts'

// biome-ignore lint/suspicious/noExplicitAny: every program has its own lines.
type Line = any

const HEAR_MS = 60_000

/** A node program that takes orders by lines on stdin, and answers by lines of JSON on stdout. */
export class Dialog {
  readonly process: Started
  readonly #lines: Line[] = []
  readonly #waiting = new Set<() => void>()
  #ended: unknown

  constructor(processes: Processes, args: readonly string[]) {
    const onLine = (line: string) => {
      this.#lines.push(JSON.parse(line))
      this.#look()
    }
    this.process = processes.start(process.execPath, args, { stdin: 'pipe', onLine })
    void this.process.ended.then(() => {
      this.#ended = new Error(`it ended: ${this.process.complaint()}`)
      this.#look()
    })
  }

  say(order: string | object): void {
    this.process.write(`${typeof order === 'string' ? order : JSON.stringify(order)}\n`)
  }

  /** Resolves with the first line that fits, of those that nobody has received and those to come. Throws what `fits` throws. */
  hear(fits: (line: Line) => boolean, withinMs = HEAR_MS): Promise<Line> {
    return new Promise((resolve, reject) => {
      const late = () => end(() => reject(new Error(`nothing heard; the last lines: ${this.#lastLines()}`)))
      const timer = setTimeout(late, withinMs).unref()
      const end = (settle: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        settle()
      }
      const look = () => {
        try {
          const index = this.#lines.findIndex(fits)
          if (index >= 0) end(() => resolve(this.#lines.splice(index, 1)[0]))
          else if (this.#ended) end(() => reject(this.#ended))
        } catch (error) {
          end(() => reject(error))
        }
      }
      this.#waiting.add(look)
      look()
    })
  }

  #look(): void {
    for (const look of [...this.#waiting]) look()
  }

  #lastLines(): string {
    return JSON.stringify(this.#lines.slice(-5))
  }
}
