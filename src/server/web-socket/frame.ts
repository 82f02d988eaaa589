import { z } from 'zod'
import {
  type ClientFrame,
  FRAME_LIMITS,
  type ListenFrame,
  type RequestDefaults,
  type RequestType,
  TAKE_DEFAULTS,
} from '../../protocol/index.ts'
import { idSchema } from '../../protocol/schemas.ts'
import { isDeepText } from '../depth.ts'

/** What a client has sent that is no frame: its connection ends with this sentence. */
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

const defaultsSchema = z.strictObject({
  namespace: idSchema.optional(),
  node: idSchema.optional(),
  session: z.string().optional(),
})

/** Deeper than what JSON.stringify writes before its stack is full. What is less deep is refused as a request, and the stream goes on. */
const DEEPEST = 20_000

const FIELDS = new Set(['defaults', 'from', 'requests', 'acked', 'keep', 'listen', 'unlisten'])

/** The frame as it came, its requests still to be checked one by one. `lastNumber`: of the request before. */
export function frameFrom(text: string, lastNumber: number): ClientFrame & { readonly requests?: readonly unknown[] } {
  const frame = parsed(text)
  for (const field of Object.keys(frame))
    if (!FIELDS.has(field)) throw new BadFrame(`unknown field ${field.slice(0, 64)}`)
  const { defaults, from, requests, acked, keep, listen, unlisten } = frame
  if (requests !== undefined) {
    if (!Array.isArray(requests) || requests.length === 0 || requests.length > FRAME_LIMITS.requests)
      throw new BadFrame(`requests must be a list of 1 to ${FRAME_LIMITS.requests}`)
    if (!isNumber(from) || from <= lastNumber) throw new BadFrame('from must be a number above those before it')
  }
  if (acked !== undefined && !(isNumber(acked) && acked <= lastNumber))
    throw new BadFrame('acked must be the number of a request that was made')
  for (const [name, numbers] of Object.entries({ keep, unlisten }))
    if (numbers !== undefined && !(Array.isArray(numbers) && numbers.every(isNumber)))
      throw new BadFrame(`${name} must be a list of numbers`)
  if (defaults !== undefined && !defaultsSchema.safeParse(defaults).success)
    throw new BadFrame('defaults must be an object with namespace, node and session')
  return { ...frame, ...(listen !== undefined && { listen: listensFrom(listen) }) } as ClientFrame
}

function parsed(text: string): Record<string, unknown> {
  // Harmless where it is only a value; who sends it as a key is up to something.
  if (text.includes('__proto__')) throw new BadFrame('a key like __proto__')
  if (isDeepText(text, DEEPEST)) throw new BadFrame('JSON that nobody could have written')
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch {
    throw new BadFrame('not JSON')
  }
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) throw new BadFrame('not a JSON object')
  return frame as Record<string, unknown>
}

function listensFrom(input: unknown): readonly ListenFrame[] {
  const result = listens.safeParse(input)
  if (!result.success) throw new BadFrame('listen must be a list of scopes, each with an id')
  return result.data
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** A request of a frame with what it has left to the defaults. */
export function completed(input: unknown, { namespace, node, session }: RequestDefaults): unknown {
  if (typeof input !== 'object' || input === null) return input
  const request = input as { type?: unknown; namespace?: unknown; node?: unknown; session?: unknown }
  if (namespace !== undefined && TAKE_DEFAULTS.has(request.type as RequestType)) request.namespace ??= namespace
  if (node !== undefined && TAKE_DEFAULTS.has(request.type as RequestType)) request.node ??= node
  if (session !== undefined && request.type === 'acquire') request.session ??= session
  return request
}
