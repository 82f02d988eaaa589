import { fileURLToPath } from 'node:url'
import { Dialog } from '@baton-lock/test-support/dialog'
import { processes } from './cli-process.ts'

const PROGRAM = fileURLToPath(new URL('library-process.mjs', import.meta.url))

/** A process on a store of its own: `library-process.mjs`. */
export class LibraryProcess {
  readonly #dialog: Dialog
  #ids = 0

  constructor(url: string, node: string, ttlMs = 30_000) {
    this.#dialog = new Dialog(processes, [PROGRAM, url, node, String(ttlMs)])
  }

  static async start(url: string, node: string, ttlMs?: number): Promise<LibraryProcess> {
    const started = new LibraryProcess(url, node, ttlMs)
    await started.#dialog.hear((line) => line.ready)
    return started
  }

  /** Asks for a lock; `queued` and `ended` say what becomes of it. */
  acquire(resource: string, options: object = {}) {
    const id = ++this.#ids
    this.#dialog.say({ what: 'acquire', id, resource, options })
    const ended = this.#dialog.hear((line) => line.id === id && ('granted' in line || 'error' in line))
    // A test that has stopped asking may kill the process.
    ended.catch(() => {})
    return {
      queued: () => this.#dialog.hear((line) => line.id === id && 'queued' in line),
      ended,
      release: () => {
        this.#dialog.say({ what: 'release', id })
        return this.#dialog.hear((line) => line.id === id && ('released' in line || 'error' in line))
      },
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#dialog.process.kill(signal)
  }

  async kill(): Promise<void> {
    await this.#dialog.process.end()
  }

  async close(): Promise<void> {
    this.#dialog.say({ what: 'close' })
    await this.#dialog.process.exited
  }
}
