import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { issuesText, type NamedToken, TOKEN_PROTOCOL, type Token } from '@baton-lock/protocol'
import { tokensSchema } from '@baton-lock/protocol/schemas'

/** What became of the tokens, by what they are called. */
export interface TokenChanges {
  readonly added: readonly NamedToken[]
  readonly removed: readonly NamedToken[]
}

/**
 * The tokens that a server knows. Throws where one of them is not as it should be. One that stays as it was stays the same
 * object, by which its streams, accounts and quotas go on.
 */
export class Tokens {
  #all: ReadonlySet<NamedToken> = new Set()
  #digests: readonly { readonly token: NamedToken; readonly digest: Buffer }[] = []
  /** By certificate, as an entry names it. */
  #certificates: ReadonlyMap<string, NamedToken> = new Map()

  constructor(tokens: readonly Token[]) {
    this.replace(tokens)
  }

  /** All at once, or none where one of them is wrong. */
  replace(tokens: readonly Token[]): TokenChanges {
    const result = tokensSchema.safeParse(tokens)
    if (!result.success)
      throw new TypeError(
        issuesText(result.error.issues.map((issue) => ({ ...issue, path: ['tokens', ...issue.path] }))),
      )
    const before = new Map([...this.#all].map((token) => [textOf(token), token]))
    const all = new Set(result.data.map((token) => before.get(textOf(token)) ?? token))
    const changes = {
      added: [...all].filter((token) => !this.#all.has(token)),
      removed: [...this.#all].filter((token) => !all.has(token)),
    }
    this.#all = all
    this.#digests = [...all].flatMap((token) =>
      token.sha256 === undefined ? [] : [{ token, digest: Buffer.from(token.sha256, 'hex') }],
    )
    this.#certificates = new Map(
      [...all].flatMap((token) => (token.certificate === undefined ? [] : [[token.certificate, token]])),
    )
    return changes
  }

  /** Whether it is one of them now. */
  has(token: NamedToken): boolean {
    return this.#all.has(token)
  }

  /** Whose token this is. Looks at every one in full, so that the time taken tells nothing. */
  find(secret: string): NamedToken | undefined {
    const digest = createHash('sha256').update(secret).digest()
    let found: NamedToken | undefined
    for (const known of this.#digests) if (timingSafeEqual(known.digest, digest)) found = known.token
    return found
  }

  get haveCertificates(): boolean {
    return this.#certificates.size > 0
  }

  /** The entry that a certificate of these names stands for: the one of the first name that has any. */
  ofCertificate(names: readonly string[]): NamedToken | undefined {
    const name = names.find((each) => this.#certificates.has(each))
    return name === undefined ? undefined : this.#certificates.get(name)
  }
}

/** Alike of two that mean the same. */
function textOf({ sha256, certificate, name, role, nodes, namespace, expires }: NamedToken): string {
  return JSON.stringify([sha256, certificate, name, role, nodes, namespace, expires])
}

/** The token in an `Authorization` header; nothing where there is none. */
export function secretIn(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
}

/** The token among the subprotocols that a page offers with an upgrade; nothing where there is none. */
export function secretOffered(headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim())
  const coded = offered?.find((name) => name.startsWith(TOKEN_PROTOCOL))?.slice(TOKEN_PROTOCOL.length)
  return coded === undefined ? undefined : Buffer.from(coded, 'base64url').toString()
}
