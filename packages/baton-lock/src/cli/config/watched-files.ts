import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** What is written within this time is one change: a certificate and its key, or a file that is written in pieces. */
const GATHER_MS = 300

interface WatchOptions {
  readonly onChange: () => void
  /** A folder cannot be watched: its changes are not noticed. */
  readonly onTrouble: (folder: string, error: Error) => void
}

/**
 * Tells when one of these files has become another one. The folders are watched, not the files: editors, `mv` and Kubernetes put
 * another file, or another link, in the place of the old one.
 */
export class WatchedFiles {
  readonly #paths: readonly string[]
  readonly #options: WatchOptions
  readonly #folders = new Map<string, FSWatcher | undefined>()
  #seen: string
  #timer: NodeJS.Timeout | undefined

  constructor(paths: readonly string[], options: WatchOptions) {
    this.#paths = paths
    this.#options = options
    this.#seen = this.#look()
    this.#watchFolders()
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#folders.values()) watcher?.close()
    this.#folders.clear()
  }

  /** Where the files are, and where those are that they are links to. */
  #watchFolders(): void {
    const wanted = new Set(this.#paths.flatMap(foldersOf))
    for (const [folder, watcher] of this.#folders) {
      if (wanted.has(folder)) continue
      watcher?.close()
      this.#folders.delete(folder)
    }
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#folders.set(folder, this.#watch(folder))
  }

  #watch(folder: string): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false }, () => {
        this.#timer ??= setTimeout(() => this.#check(), GATHER_MS).unref()
      })
      watcher.on('error', (error) => this.#options.onTrouble(folder, error))
      return watcher
    } catch (error) {
      this.#options.onTrouble(folder, error as Error)
      return undefined
    }
  }

  #check(): void {
    this.#timer = undefined
    const now = this.#look()
    if (now === this.#seen) return
    this.#seen = now
    this.#watchFolders()
    this.#options.onChange()
  }

  #look(): string {
    return JSON.stringify(this.#paths.map(markOf))
  }
}

/** Differs of a file that was changed, and of another one in its place. */
function markOf(path: string): unknown {
  const file = statSync(path, { throwIfNoEntry: false, bigint: true })
  return file && [file.dev, file.ino, file.size, file.mtimeNs].map(String)
}

function foldersOf(path: string): string[] {
  try {
    return [dirname(path), dirname(realpathSync(path))]
  } catch {
    return [dirname(path)]
  }
}
