import { type ReportedOutcome, SHARED_HOLD } from '@baton-lock/core'
import { isId, LIMITS } from '@baton-lock/protocol'
import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import { sentenceOf } from '../v1/check.ts'

/** The namespace of every key of the classic paths. */
export const NAMESPACE = 'default'

/** A key of the classic paths. */
export interface ClassicKey {
  readonly operation: string
  readonly resource: string
}

/** Who asks for what. The node is its own owner, and all of its asks share one hold. */
export interface ClassicAsk extends ClassicKey {
  readonly node: string
}

const id = z
  .stringFormat('baton-id', isId, { error: 'must be 1 to 512 bytes of text without control characters' })
  .meta({ minLength: 1, maxLength: 512 })

/** POST /lock/status. Unknown fields are ignored on the classic paths. */
export const askSchema = z.object({ type: id, resource_id: id, node_id: id })

/** POST /lock. */
export const lockSchema = askSchema.extend({
  force: z
    .boolean('must be true or false')
    .nullish()
    .describe('true: do it even though it has been done; what is kept and the references give no skip'),
})

/** POST /unlock. */
export const unlockSchema = askSchema.extend({
  error: z.string('must be text').nullish(),
  success: z.unknown().optional().meta({ type: 'boolean' }),
  effect: z
    .literal('none', 'must be "none", or absent')
    .nullish()
    .describe('"none": there was nothing to do; waiters skip, and nothing else changes'),
})

/** The query of GET /lock/subscribe. */
const subscribeSchema = z.object({
  type: id,
  resource_id: id,
  node_id: z.preprocess((node) => (node === '' ? undefined : node), id.optional()),
})

function read<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new Refusal('bad-request', 'Send a JSON object with type, resource_id and node_id.')
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw new Refusal('bad-request', sentenceOf(result.error))
}

export function askOf(input: unknown): ClassicAsk {
  const { type, resource_id, node_id } = read(askSchema, input)
  return { operation: type, resource: resource_id, node: node_id }
}

export function lockOf(input: unknown): { readonly ask: ClassicAsk; readonly force: boolean } {
  const { type, resource_id, node_id, force } = read(lockSchema, input)
  return { ask: { operation: type, resource: resource_id, node: node_id }, force: force ?? false }
}

/** An error, or an explicit `"success": false`, is a failure; everything else is success. */
export function unlockOf(input: unknown): { readonly ask: ClassicAsk; readonly outcome: ReportedOutcome } {
  const { type, resource_id, node_id, error, success, effect } = read(unlockSchema, input)
  const ask = { operation: type, resource: resource_id, node: node_id }
  if (error) return { ask, outcome: { outcome: 'failure', error: error.slice(0, LIMITS.errorChars) } }
  if (success === false) return { ask, outcome: { outcome: 'failure', error: 'failed' } }
  return { ask, outcome: { outcome: 'success', ...(effect === 'none' && { effect }) } }
}

/** A key, and the node if one is named. */
export function subscriptionOf(query: unknown): { readonly key: ClassicKey; readonly node: string | undefined } {
  const { type, resource_id, node_id } = read(subscribeSchema, query)
  return { key: { operation: type, resource: resource_id }, node: node_id }
}

export function addressOf({ resource }: ClassicKey) {
  return { namespace: NAMESPACE, resource }
}

/** The ask in the words of the service. */
export function placeOf({ operation, resource, node }: ClassicAsk) {
  return { namespace: NAMESPACE, resource, operation, node, owner: node, hold: SHARED_HOLD }
}
