import { createHash, randomBytes } from 'node:crypto'
import type { NamedToken, Role } from '../../protocol/index.ts'
import { UsageError } from '../exit.ts'
import { withEntry, withoutEntry } from './entries-text.ts'
import { TokensFile } from './tokens-file.ts'

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

/** Adds an entry to a file, which is made where there is none. The secret of a token is nowhere else. */
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
