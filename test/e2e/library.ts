import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('library-process.mjs', import.meta.url))
const WAIT_MS = 60_000

// biome-ignore lint/suspicious/noExplicitAny: a line of the process's, each with what it has to say.
type Line = any

const running = new Set<ChildProcess>()

/** A process on a store of its own: `library-process.mjs`, ended by its pid. */
export class LibraryProcess {
  readonly #child: ChildProcess
  readonly #lines: Line[] = []
  readonly #waiting = new Set<() => void>()
  #ids = 0

  constructor(url: string, node: string, ttlMs = 30_000) {
    this.#child = spawn(process.execPath, [PROGRAM, url, node, String(ttlMs)], { stdio: ['pipe', 'pipe', 'inherit'] })
    running.add(this.#child)
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      this.#lines.push(JSON.parse(line))
      for (const look of this.#waiting) look()
    })
  }

  static async start(url: string, node: string, ttlMs?: number): Promise<LibraryProcess> {
    const started = new LibraryProcess(url, node, ttlMs)
    await started.line((line) => line.ready)
    return started
  }

  /** Asks for a lock; `queued` and `granted` tell what becomes of it. */
  acquire(resource: string, options: object = {}) {
    const id = ++this.#ids
    this.#send({ what: 'acquire', id, resource, options })
    const ended = this.line((line) => line.id === id && ('granted' in line || 'error' in line))
    // Who is not asked any more may be gone without a word.
    ended.catch(() => {})
    return {
      queued: () => this.line((line) => line.id === id && 'queued' in line),
      ended,
      release: async () => {
        this.#send({ what: 'release', id })
        return this.line((line) => line.id === id && ('released' in line || ('error' in line && !('atMs' in line))))
      },
    }
  }

  /** The first line that is like that, of those that came and of those to come. */
  async line(isIt: (line: Line) => boolean): Promise<Line> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(look)
        reject(new Error(`nothing of the kind within ${WAIT_MS} ms; said: ${JSON.stringify(this.#lines.slice(-5))}`))
      }, WAIT_MS).unref()
      const look = () => {
        const found = this.#lines.find(isIt)
        if (found === undefined) return
        clearTimeout(late)
        this.#waiting.delete(look)
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended()
  }

  async close(): Promise<void> {
    this.#send({ what: 'close' })
    await this.#ended()
  }

  async #ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    running.delete(this.#child)
  }

  #send(what: object): void {
    this.#child.stdin!.write(`${JSON.stringify(what)}\n`)
  }
}

/** What a test that failed has left. */
export function killLibraries(): void {
  for (const child of running) child.kill('SIGKILL')
}
