import { z } from 'zod'
import { idSchema } from './id-schema.ts'

const NEEDS_NODES = 'a token of the role node acts for the nodes that it names; write nodes = ["node-a"]'
const NO_PATTERN =
  'is not supported; write the name of a node ("node-a"), the beginning of names ("api-*"), or "*" for every node'
const ONE_OF_TWO = 'an entry has either sha256, of a token, or certificate, of a client; write one of them'
const NO_CERTIFICATE =
  'must be "CN=node-a" (the common name of its subject), "DNS:node-a.example" or "URI:spiffe://…" (an alternative name), ' +
  'or "sha256:" and its fingerprint'
const NO_TIME = 'must be a time with its zone, e.g. 2027-01-31T00:00:00Z'

/** RFC 3339: without a zone it would depend on where the server runs. */
const ZONED_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i

/** A date of TOML knows whether it had a zone, and writes itself as it was written. */
function timeText(said: unknown): unknown {
  return said instanceof Date && !Number.isNaN(said.getTime()) ? said.toISOString() : said
}

const time = z
  .preprocess(
    timeText,
    z
      .string(NO_TIME)
      .refine((text) => ZONED_TIME.test(text) && !Number.isNaN(Date.parse(text)), NO_TIME)
      .transform((text) => new Date(text)),
  )
  .meta({ type: 'string', format: 'date-time' })

/** The name of a node, or the beginning of names. What looks like another pattern would be taken literally, and match nothing. */
const nodePattern = idSchema.regex(/^[^*?[\]{}]*\*?$/, {
  error: ({ input }) => `${JSON.stringify(input)} ${NO_PATTERN}`,
})

/** Names of machines are the same in capitals, and fingerprints are written with colons and without. */
const certificate = z
  .string()
  .regex(/^(?:CN=.+|DNS:.+|URI:.+|sha256:(?:[0-9a-f]{64}|[0-9a-f]{2}(?::[0-9a-f]{2}){31}))$/i, NO_CERTIFICATE)
  .transform((text) => {
    const [, kind = '', separator = '', name = ''] = /^(\w+)([:=])(.*)$/.exec(text) ?? []
    if (/^sha256$/i.test(kind)) return `sha256:${name.replaceAll(':', '').toLowerCase()}`
    return kind.toUpperCase() + separator + (/^dns$/i.test(kind) ? name.toLowerCase() : name)
  })

const tokenSchema = z
  .strictObject({
    name: idSchema
      .optional()
      .describe('for logs and commands; default: the first digits of sha256, or the certificate'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits: the output of `printf %s TOKEN | sha256sum`')
      .toLowerCase()
      .optional()
      .describe('the SHA-256 of the token; the token itself is kept nowhere'),
    certificate: certificate.optional().describe('in place of a token: who shows this certificate acts as this entry'),
    role: z.enum(['node', 'observe', 'admin']).describe('acts for its nodes; only reads; may do everything'),
    nodes: z
      .array(nodePattern)
      .min(1, NEEDS_NODES)
      .optional()
      .describe('the nodes that a `node` token acts for; `api-*`: all whose ids begin so; `*`: all'),
    namespace: idSchema.optional().describe('only there; everywhere where absent'),
    created: time.optional().describe('when it was made; for people'),
    expires: time.optional().describe('not good from then on; absent: good until it is removed'),
  })
  .refine(({ sha256, certificate }) => (sha256 === undefined) !== (certificate === undefined), {
    path: ['sha256'],
    error: ONE_OF_TWO,
  })
  .refine(({ role, nodes }) => role !== 'node' || nodes, { path: ['nodes'], error: NEEDS_NODES })
  .refine(({ role, nodes }) => role === 'node' || !nodes, {
    path: ['nodes'],
    error: 'only a token of the role node has nodes; leave them out, or write role = "node"',
  })
  .transform((token) => ({ ...token, name: token.name ?? token.certificate ?? token.sha256?.slice(0, 8) ?? '' }))

const NO_TOKEN = 'there is none; write [[tokens]] with sha256 and role, or name no tokens at all to let everybody in'

/** What has to be different in every entry, and what is said where it is not. */
const UNIQUE = {
  sha256: 'the same token stands in another entry; remove one of them',
  certificate: 'the same certificate stands in another entry; remove one of them',
  name: 'another entry has this name; give each one of its own',
} as const

/** The tokens of a server. An empty list is a mistake: it would let everybody in, or nobody. */
export const tokensSchema = z
  .array(tokenSchema, NO_TOKEN)
  .min(1, NO_TOKEN)
  .superRefine((tokens, context) => {
    for (const [index, token] of tokens.entries()) {
      const clash = (Object.keys(UNIQUE) as (keyof typeof UNIQUE)[]).find(
        (field) => token[field] !== undefined && tokens.findIndex((other) => other[field] === token[field]) < index,
      )
      if (clash) context.addIssue({ code: 'custom', path: [index, clash], message: UNIQUE[clash] })
    }
  })

/** Who may enter, and what it may do: by the SHA-256 of its token, or by its certificate. */
export interface Token {
  readonly name?: string | undefined
  readonly sha256?: string | undefined
  readonly certificate?: string | undefined
  readonly role: 'node' | 'observe' | 'admin'
  readonly nodes?: readonly string[] | undefined
  readonly namespace?: string | undefined
  readonly created?: Date | string | undefined
  readonly expires?: Date | string | undefined
}
/** The same, checked: every one has a name. */
export interface NamedToken extends Token {
  readonly name: string
  readonly nodes?: string[] | undefined
  readonly created?: Date | undefined
  readonly expires?: Date | undefined
}
export type Role = Token['role']
