import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { idSchema } from '../protocol/schemas.ts'

const tokenSchema = z
  .strictObject({
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits')
      .describe('the SHA-256 of the token; the token itself is kept nowhere'),
    role: z.enum(['node', 'observe', 'admin']).describe('acts for its nodes; only reads; may do everything'),
    nodes: z.array(idSchema).min(1).optional().describe('the nodes that a `node` token acts for'),
    namespace: idSchema.optional().describe('only there; everywhere where absent'),
  })
  .refine(({ role, nodes }) => (role === 'node') === (nodes !== undefined), 'a node token has nodes, others have none')

/** A token that may enter, by its SHA-256, and what it may do. */
export type Token = z.output<typeof tokenSchema>

/** The tokens that a server knows. Throws at the start where one of them is not as it should be. */
export class Tokens {
  readonly #known: { readonly token: Token; readonly digest: Buffer }[]

  constructor(tokens: readonly Token[]) {
    this.#known = tokens.map((input) => {
      const token = tokenSchema.parse(input)
      return { token, digest: Buffer.from(token.sha256, 'hex') }
    })
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
