import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { NamedToken } from '../../protocol/index.ts'
import { parseTokens } from '../config/file.ts'
import { readText } from '../config/read-text.ts'
import { UsageError } from '../exit.ts'

/** What a tokens file has, and how it is changed: as a whole, and only into one that a server would take. */
export class TokensFile {
  readonly #path: string
  readonly text: string
  readonly tokens: readonly NamedToken[]

  /** `isNew`: it need not be there. */
  constructor(path: string, { isNew = false } = {}) {
    const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined
    // A link stays one: what it leads to is replaced.
    this.#path = isThere ? realpathSync(path) : path
    this.text = isNew && !isThere ? '' : readText(path)
    this.tokens = this.text.trim() === '' && isNew ? [] : parseTokens(this.text, path)
  }

  /**
   * Whoever reads it meanwhile reads the old one or the new one. The mode and the owner stay; a new file is for its owner
   * alone. Returns what is in it now; throws, and changes nothing, where a server would not take it.
   */
  replace(text: string): readonly NamedToken[] {
    const tokens = parseTokens(text, this.#path)
    const draft = `${this.#path}.new`
    const descriptor = this.#openDraft(draft)
    try {
      this.#keepOwner(descriptor)
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
      renameSync(draft, this.#path)
    } catch (error) {
      rmSync(draft, { force: true })
      throw error
    } finally {
      closeSync(descriptor)
    }
    this.#syncFolder()
    return tokens
  }

  /** It is also what keeps two that change the file at a time from losing what the other one writes. */
  #openDraft(draft: string): number {
    try {
      return openSync(draft, 'wx', 0o600)
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException
      const why =
        code === 'EEXIST'
          ? 'somebody else changes the file; try again, and if nobody does, remove it'
          : `${message}; name a file in a folder that may be written to`
      throw new UsageError(`cannot write ${draft}: ${why}`, { cause })
    }
  }

  #keepOwner(descriptor: number): void {
    const before = statSync(this.#path, { throwIfNoEntry: false })
    if (!before) return
    fchmodSync(descriptor, before.mode & 0o777)
    if (before.uid === process.getuid?.() && before.gid === process.getgid?.()) return
    try {
      fchownSync(descriptor, before.uid, before.gid)
    } catch (cause) {
      throw new UsageError(
        `${this.#path} belongs to somebody else, and has to stay theirs; do this as its owner, or as root`,
        {
          cause,
        },
      )
    }
  }

  #syncFolder(): void {
    const folder = openSync(dirname(this.#path), 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  }
}
