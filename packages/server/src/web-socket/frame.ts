import {
  type ClientFrame,
  FRAME_LIMITS,
  type RequestDefaults,
  type RequestType,
  TAKE_DEFAULTS,
} from '@baton-lock/protocol'
import { idSchema } from '@baton-lock/protocol/schemas'
import { z } from 'zod'
import { isDeepText } from '../http/json.ts'

/** Thrown if what a client has sent is not a frame: its connection ends with this sentence. */
export class BadFrame extends Error {}

const listens = z
  .array(
    z.strictObject({
      id: z.int().min(0),
      scope: z.discriminatedUnion('of', [
        z.strictObject({ of: z.literal('session'), session: z.string().regex(/^[\x21-\x7e]{1,512}$/) }),
        z.strictObject({ of: z.literal('resource'), namespace: idSchema, resource: idSchema }),
        z.strictObject({ of: z.literal('all'), namespace: idSchema.optional() }),
      ]),
      lastId: z.string().max(512).optional(),
      gatherMs: z.int().min(100).max(60_000).optional(),
    }),
  )
  .max(FRAME_LIMITS.requests)

/** A frame but for its requests: each of them is checked, and answered, by itself. */
const frameSchema = z.strictObject({
  defaults: z
    .strictObject({
      namespace: idSchema.optional(),
      node: idSchema.optional(),
      session: z.string().optional(),
    })
    .optional(),
  from: z.int().min(0).optional(),
  requests: z.unknown().refine(isRequestList).optional(),
  acked: z.int().min(0).optional(),
  keep: z.array(z.int().min(0)).optional(),
  listen: listens.optional(),
  unlisten: z.array(z.int().min(0)).optional(),
})

/** What is said of a field that is not as it should be. */
const SENTENCES: Readonly<Record<keyof ClientFrame, string>> = {
  defaults: 'defaults must be an object with namespace, node and session',
  from: 'from must be a number above those before it',
  requests: `requests must be a list of 1 to ${FRAME_LIMITS.requests}`,
  acked: 'acked must be the number of a request that was made',
  keep: 'keep must be a list of numbers',
  listen: 'listen must be a list of scopes, each with an id',
  unlisten: 'unlisten must be a list of numbers',
}

function isRequestList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= FRAME_LIMITS.requests
}

/** Deeper than `JSON.stringify` can write before its stack is full. What is less deep is refused as a request, and the stream goes on. */
const DEEPEST = 20_000

/** Parses a frame. `lastNumber` is the number of the last request before it. */
export function frameFrom(text: string, lastNumber: number): ClientFrame & { readonly requests?: readonly unknown[] } {
  // Harmless as a value. Whoever sends it as a key is up to something.
  if (text.includes('__proto__')) throw new BadFrame('a key like __proto__')
  if (isDeepText(text, DEEPEST)) throw new BadFrame('JSON that nobody could have written')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BadFrame('not JSON')
  }
  const result = frameSchema.safeParse(value)
  if (!result.success) throw new BadFrame(sentenceOf(result.error.issues[0]!))
  const frame = result.data as ClientFrame
  const { from, requests, acked } = frame
  if (requests && !(from !== undefined && from > lastNumber)) throw new BadFrame(SENTENCES.from)
  if (acked !== undefined && acked > lastNumber) throw new BadFrame(SENTENCES.acked)
  return frame
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const [field] = issue.path
  if (field !== undefined) return SENTENCES[field as keyof ClientFrame]
  return issue.code === 'unrecognized_keys' ? `unknown field ${issue.keys[0]!.slice(0, 64)}` : 'not a JSON object'
}

/** A request of a frame, with what it leaves to the defaults of its connection. */
export function completed(input: unknown, { namespace, node, session }: RequestDefaults): unknown {
  if (typeof input !== 'object' || input === null) return input
  const request = input as { type?: unknown; namespace?: unknown; node?: unknown; session?: unknown }
  if (namespace !== undefined && TAKE_DEFAULTS.has(request.type as RequestType)) request.namespace ??= namespace
  if (node !== undefined && TAKE_DEFAULTS.has(request.type as RequestType)) request.node ??= node
  if (session !== undefined && request.type === 'acquire') request.session ??= session
  return request
}
