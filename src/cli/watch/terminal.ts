import type { Input, Output } from '../context.ts'
import { isHalf, type Key, keysIn } from './keys.ts'

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[H\u001b[2J'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
/** What a key sends comes in one piece, or nearly so. */
const HALF_MS = 30

interface TerminalOptions {
  readonly input: Input
  readonly output: Output
  readonly onKey: (key: Key) => void
  /** It has another size, or what was on it is gone. */
  readonly onResize: () => void
}

/** A screen of its own on a terminal, which is as it was before when this is closed, however the process ends. */
export class Terminal {
  readonly #options: TerminalOptions
  #isOpen = false
  #lines: readonly string[] = []
  #half = ''
  #halfTimer: NodeJS.Timeout | undefined

  constructor(options: TerminalOptions) {
    this.#options = options
  }

  get columns(): number {
    return this.#options.output.columns || 80
  }

  get rows(): number {
    return this.#options.output.rows || 24
  }

  open(): void {
    const { input, output } = this.#options
    if (this.#isOpen) return
    this.#isOpen = true
    output.write(ENTER)
    this.#lines = []
    process.on('exit', this.#leave)
    output.on('resize', this.#onResize)
    if (!input.isTTY) return
    input.setRawMode?.(true)
    input.setEncoding('utf8')
    input.on('data', this.#onData)
    input.resume()
  }

  /** Writes the lines that are not there already. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return
    let text = ''
    for (const [index, line] of lines.entries()) {
      if (this.#lines[index] !== line) text += `\u001b[${index + 1};1H\u001b[2K${line}`
    }
    if (lines.length < this.#lines.length) text += `\u001b[${lines.length + 1};1H\u001b[J`
    this.#lines = lines
    if (text !== '') this.#options.output.write(text)
  }

  /** All of it is drawn anew. */
  forget(): void {
    this.#lines = []
    if (this.#isOpen) this.#options.output.write('\u001b[2J')
  }

  close(): void {
    const { input, output } = this.#options
    clearTimeout(this.#halfTimer)
    output.off('resize', this.#onResize)
    input.off('data', this.#onData)
    input.pause()
    this.#leave()
    process.off('exit', this.#leave)
  }

  /** Gives the terminal back to the shell until it says to go on. */
  suspend(): void {
    this.close()
    process.once('SIGCONT', () => {
      this.open()
      this.#options.onResize()
    })
    process.kill(process.pid, 'SIGTSTP')
  }

  readonly #leave = () => {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { input, output } = this.#options
    if (input.isTTY) input.setRawMode?.(false)
    output.write(LEAVE)
  }

  readonly #onResize = () => {
    this.forget()
    this.#options.onResize()
  }

  readonly #onData = (text: string | Buffer) => {
    clearTimeout(this.#halfTimer)
    this.#half += text
    if (isHalf(this.#half)) this.#halfTimer = setTimeout(() => this.#tell(), HALF_MS)
    else this.#tell()
  }

  #tell(): void {
    const input = this.#half
    this.#half = ''
    for (const key of keysIn(input)) this.#options.onKey(key)
  }
}
