import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { TOKEN_PROTOCOL, type Token } from '../protocol/index.ts'
import { tokensSchema } from '../protocol/schemas.ts'

/** The tokens that a server knows. Throws at the start where one of them is not as it should be. */
export class Tokens {
  readonly #known: { readonly token: Token; readonly digest: Buffer }[]

  constructor(tokens: readonly Token[]) {
    const result = tokensSchema.safeParse(tokens)
    if (!result.success) {
      const issues = result.error.issues.map(({ path, message }) => `${['tokens', ...path].join('.')}: ${message}`)
      throw new TypeError(issues.join('; '))
    }
    this.#known = result.data.map((token) => ({ token, digest: Buffer.from(token.sha256, 'hex') }))
  }

  /** Whose token this is. Looks at every one in full, so that the time taken tells nothing. */
  find(secret: string): Token | undefined {
    const digest = createHash('sha256').update(secret).digest()
    let found: Token | undefined
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known.token
    return found
  }
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
