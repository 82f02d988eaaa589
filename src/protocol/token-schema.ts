import { z } from 'zod'
import { idSchema } from './id-schema.ts'

const NEEDS_NODES = 'a token of the role node acts for the nodes that it names; write nodes = ["node-a"]'

const tokenSchema = z
  .strictObject({
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits: the output of `printf %s TOKEN | sha256sum`')
      .toLowerCase()
      .describe('the SHA-256 of the token; the token itself is kept nowhere'),
    role: z.enum(['node', 'observe', 'admin']).describe('acts for its nodes; only reads; may do everything'),
    nodes: z.array(idSchema).min(1, NEEDS_NODES).optional().describe('the nodes that a `node` token acts for'),
    namespace: idSchema.optional().describe('only there; everywhere where absent'),
  })
  .refine(({ role, nodes }) => role !== 'node' || nodes, { path: ['nodes'], error: NEEDS_NODES })
  .refine(({ role, nodes }) => role === 'node' || !nodes, {
    path: ['nodes'],
    error: 'only a token of the role node has nodes; leave them out, or write role = "node"',
  })

const NO_TOKEN = 'there is none; write [[tokens]] with sha256 and role, or name no tokens at all to let everybody in'

/** The tokens of a server. An empty list is a mistake: it would let everybody in, or nobody. */
export const tokensSchema = z.array(tokenSchema, NO_TOKEN).min(1, NO_TOKEN)

/** A token that may enter, by its SHA-256, and what it may do. */
export type Token = z.output<typeof tokenSchema>
export type Role = Token['role']
