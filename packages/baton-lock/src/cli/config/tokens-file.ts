import { createHash, randomBytes } from 'node:crypto'
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
import { type NamedToken, type Role, withEscapes } from '@baton-lock/protocol'
import { parse } from 'smol-toml'
import { UsageError } from '../exit.ts'
import { readText } from '../values.ts'
import { parseTokens } from './file.ts'

/** Known by those who look for secrets in texts that should have none. */
const PREFIX = 'baton_'
const SECRET_BYTES = 32

/** What a new entry is to be. */
export interface NewEntry {
  readonly role: Role
  readonly nodes?: readonly string[] | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  /** In place of a token. */
  readonly certificate?: string | undefined
  readonly created: Date
  readonly expires?: Date | undefined
}

/** Adds an entry to a file, and makes the file if there is none. The secret is returned and stored nowhere. */
export function addEntry(path: string, entry: NewEntry): { readonly token: NamedToken; readonly secret?: string } {
  const file = new TokensFile(path, { isNew: true })
  const secret = entry.certificate === undefined ? PREFIX + randomBytes(SECRET_BYTES).toString('base64url') : undefined
  const sha256 = secret === undefined ? undefined : createHash('sha256').update(secret).digest('hex')
  const name = entry.name ?? sha256?.slice(0, 8)
  if (name !== undefined && file.tokens.some((token) => token.name === name)) {
    throw new UsageError(`${path} has a token with the name '${name}'; give this one another with --name`)
  }
  const { certificate, role, nodes, namespace, created, expires } = entry
  const fields = { name, sha256, certificate, role, nodes, namespace, created, expires }
  const token = file.replace(withEntry(file.text, fields)).at(-1)!
  return { token, ...(secret !== undefined && { secret }) }
}

/** Removes the entry of this name. */
export function removeEntry(path: string, name: string): void {
  const file = new TokensFile(path)
  const index = file.tokens.findIndex((token) => token.name === name)
  if (index < 0) {
    throw new UsageError(
      `${path} has no token with the name '${name}'; \`baton token list --tokens ${path}\` shows them`,
    )
  }
  // A server that finds no token in its file goes on with those that it has.
  if (file.tokens.length === 1) {
    throw new UsageError(
      `'${name}' is the only token in ${path}, and a server needs one; make another first: baton token new`,
    )
  }
  const text = withoutEntry(file.text, index)
  if (text === undefined) throw new UsageError(`${path} is not written entry by entry; remove '${name}' by hand`)
  file.replace(text)
}

export function entriesOf(path: string): readonly NamedToken[] {
  return new TokensFile(path).tokens
}

/** A tokens file, read as a whole and replaced as a whole. */
class TokensFile {
  readonly #path: string
  readonly text: string
  readonly tokens: readonly NamedToken[]

  /** `isNew`: it need not be there. */
  constructor(path: string, { isNew = false } = {}) {
    const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined
    // If the path is a link, its target is replaced.
    this.#path = isThere ? realpathSync(path) : path
    this.text = isNew && !isThere ? '' : readText(path)
    this.tokens = this.text.trim() === '' && isNew ? [] : parseTokens(this.text, path)
  }

  /**
   * Replaces the file atomically. Mode and owner stay; a new file is readable by its owner only. Returns the new tokens.
   * Throws, and changes nothing, if a server would not accept the text.
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

  /** The draft is also a lock between two processes that change the file at once. */
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

/** The fields of an entry in the order in which they are written. */
type EntryFields = Readonly<Record<string, string | readonly string[] | Date | undefined>>

/** The text of a tokens file with one entry more, at its end; all else stays as it is. */
function withEntry(text: string, fields: EntryFields): string {
  const lines = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key} = ${valueText(value)}`],
  )
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return `${before}${before.trim() === '' ? '' : '\n'}[[tokens]]\n${lines.join('\n')}\n`
}

/** Strings of JSON are strings of TOML. */
function valueText(value: string | readonly string[] | Date): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  return withEscapes(JSON.stringify(value)).replaceAll('","', '", "')
}

/** Where an entry begins; in a string of several lines it could stand too, which is why the result is compared. */
const HEADER = /^\s*\[\[\s*tokens\s*\]\]\s*(?:#.*)?$/
const ANY_HEADER = /^\s*\[/
const KEY = /^\s*[^#\s]/

/**
 * The text without the entry at this place: its header and its keys. Comments before it and after it stay, as they may be
 * about more than it. Nothing where it is written in a way that this cannot take apart.
 */
export function withoutEntry(text: string, index: number): string | undefined {
  const lines = text.split('\n')
  const starts = lines.flatMap((line, at) => (HEADER.test(line) ? [at] : []))
  const start = starts[index]
  if (start === undefined) return undefined
  const next = lines.findIndex((line, at) => at > start && ANY_HEADER.test(line))
  const body = lines.slice(start, next < 0 ? undefined : next)
  const length = body.findLastIndex((line) => KEY.test(line)) + 1
  // One of the two gaps around it goes with it.
  const isGap = (at: number) => lines[at]?.trim() === ''
  const gap = isGap(start + length) && (start === 0 || isGap(start - 1)) ? 1 : 0
  const left = lines.toSpliced(start, length + gap).join('\n')
  return isWithout(left, text, index) ? left : undefined
}

function isWithout(left: string, text: string, index: number): boolean {
  try {
    const before = parse(text) as { tokens: unknown[] }
    return JSON.stringify({ ...before, tokens: before.tokens.toSpliced(index, 1) }) === JSON.stringify(parse(left))
  } catch {
    return false
  }
}
