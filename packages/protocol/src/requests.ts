import { completePolicy, type SaidPolicy, SHARED_HOLD } from '@baton-lock/core'
import { z } from 'zod'
import { idSchema } from './id-schema.ts'
import { jsonSchema } from './json-schema.ts'
import { LIMITS } from './limits.ts'
import { TRACEPARENT } from './traceparent.ts'

/*
 * What can be asked of Baton, over HTTP and in process alike. These schemas check the input, make /openapi.json, and
 * are the types of the client: there is no second description anywhere.
 */

const namespace = idSchema.default('default').describe('part of every key; has its own policy')
const operation = idSchema.describe('lock, once, lead, pull, update, delete, or one that the policy table has')
const resource = idSchema.describe('what is worked on, e.g. a layer digest')
const node = idSchema.describe('who asks: a machine')
const owner = idSchema.describe('one actor on a node')
const hold = idSchema.default(SHARED_HOLD).describe('chosen by the asker: the same one again is a retry or a claim')
/** It travels in a header too, so it is plain ASCII. */
const session = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, 'must be 1 to 512 visible ASCII characters')
  .describe('the session that keeps it alive')
const fence = z.int().min(0)
const ttlMs = z.int().min(LIMITS.ttlMinMs).max(LIMITS.ttlMaxMs)
const revision = idSchema.describe('what version of the work it is about')
const traceparent = z
  .string()
  .regex(TRACEPARENT, 'must be a traceparent of W3C Trace Context, version 00')
  .meta({ examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] })

const address = { namespace, resource }

const acquire = z
  .strictObject({
    type: z.literal('acquire'),
    ...address,
    operation,
    node,
    owner: owner.optional().describe('one actor on a node; the node itself where absent'),
    hold,
    session: session.optional(),
    ttlMs: ttlMs.default(LIMITS.ttlDefaultMs).describe('the implicit lease of a request without a session'),
    waitMs: z.int().min(0).max(LIMITS.waitMaxMs).optional().describe('how long to stand in line; absent sets no limit'),
    revision: revision.optional(),
    disbelieve: fence.optional().describe('the fence of a skip that proved untrue'),
    verified: z.boolean().optional().describe('the asker has seen that the work is there: it skips'),
    verifies: z.boolean().optional().describe('the asker will check: only its `verified` ask references the node'),
    reference: z.boolean().optional().describe('false: do not add the node to the references'),
    dropReference: z.boolean().optional().describe("drop the node's own reference in the same step"),
    queueing: z.boolean().optional().describe('false: refuse at once where it is busy'),
    traceparent: traceparent.optional().describe('the span that asks; it changes nothing'),
  })
  .transform((request) => Object.assign(request, { owner: request.owner ?? request.node }))

/** Who acts: without a node, an actor of any node that the token acts for. */
const actor = { node: node.optional().describe('whose owner it is; absent: any node that may be acted for'), owner }
const heldBy = { operation, ...actor, hold }

const release = z.discriminatedUnion('outcome', [
  z.strictObject({
    type: z.literal('release'),
    ...address,
    ...heldBy,
    fence,
    outcome: z.literal('success'),
    result: jsonSchema(LIMITS.resultMaxBytes)
      .optional()
      .describe("JSON, as large as the server's `result_limit` allows"),
    resultOmitted: z.literal(true).optional().describe('there is a result, but it is too large, or not JSON'),
    effect: z.literal('none').optional().describe('nothing was to be done'),
    keepMs: z.int().min(0).max(LIMITS.keepMaxMs).optional().describe('how long it is good; absent: as the table says'),
    traceparent: traceparent.optional().describe('the span of the work, told to those who skip on it'),
  }),
  z.strictObject({
    type: z.literal('release'),
    ...address,
    ...heldBy,
    fence,
    outcome: z.literal('failure'),
    error: z.string().max(LIMITS.errorChars).default('failed'),
    permanent: z.boolean().optional().describe('true: no other try would do better'),
    traceparent: traceparent.optional().describe('the span of the work, told to the one that tries it next'),
  }),
  z.strictObject({ type: z.literal('release'), ...address, ...heldBy, fence, outcome: z.literal('cancelled') }),
])

const renew = z.strictObject({ type: z.literal('renew'), ...address, operation, ...actor, fence: fence.optional() })
const cancel = z.strictObject({ type: z.literal('cancel'), ...address, ...heldBy })
const revoke = z.strictObject({
  type: z.literal('revoke'),
  ...address,
  operation,
  fence: fence.optional().describe('only the grant with this fence'),
  by: node.optional().describe('who revokes, told to the holder and the next one'),
})
const forget = z.strictObject({
  type: z.literal('forget'),
  ...address,
  operation: operation.default('once'),
  fence: fence.optional().describe('only a success with this fence or a lower one'),
})
const progress = z.strictObject({
  type: z.literal('progress'),
  ...address,
  operation,
  ...actor,
  fence,
  progress: jsonSchema(LIMITS.progressBytes),
})
const seen = z.int().min(0).optional()
const addReference = z.strictObject({
  type: z.literal('add-reference'),
  ...address,
  node,
  seen: seen.describe('only if no reference has gone since this number; 0 asks for the present one'),
})
const releaseReference = z.strictObject({
  type: z.literal('release-reference'),
  ...address,
  node,
  seen: seen.describe('only if the node was not referenced again since this number; 0 asks for the present one'),
})
const dropNode = z.strictObject({
  type: z.literal('drop-node'),
  namespace: idSchema.optional().describe('only there; everywhere where absent'),
  node,
})
const openSession = z.strictObject({
  type: z.literal('open-session'),
  session: session.describe('chosen by the client, hard to guess'),
  node,
  ttlMs: ttlMs.default(LIMITS.ttlDefaultMs),
})
const renewSession = z.strictObject({ type: z.literal('renew-session'), session })
const closeSession = z.strictObject({ type: z.literal('close-session'), session })
const listPlaces = z.strictObject({ type: z.literal('list-places'), session })
const leavePlace = z.strictObject({ type: z.literal('leave-place'), ...address, operation, ...actor, session })
/** Of those who wait so many are shown: somebody who looks again and again need not be told of all of them. */
const waitersShown = (max: number) =>
  z.coerce.number().int().min(0).max(max).optional().describe(`of those who wait, so many at most; absent: ${max}`)
const getResource = z.strictObject({
  type: z.literal('get-resource'),
  ...address,
  waiters: waitersShown(LIMITS.waitersShown),
})
const listWaiters = z.strictObject({
  type: z.literal('list-waiters'),
  ...address,
  after: z.coerce.number().int().min(0).optional().describe('the `next` of the page before'),
  limit: z.coerce.number().int().min(1).max(LIMITS.page).default(LIMITS.page),
})
const listResources = z.strictObject({
  type: z.literal('list-resources'),
  namespace: idSchema.optional(),
  prefix: z.string().max(512).optional().describe('ids that start with this'),
  node: node.optional().describe('that this node holds, waits for or references'),
  active: z.stringbool().or(z.boolean()).optional().describe('only with a holder or a waiter'),
  after: z
    .string()
    .max(4_096)
    .refine(isNext, 'must be the `next` of an earlier page')
    .optional()
    .describe('the `next` of the page before'),
  limit: z.coerce.number().int().min(1).max(LIMITS.page).default(100),
  waiters: waitersShown(LIMITS.waitersListed),
})
const getTimeline = z.strictObject({ type: z.literal('get-timeline'), ...address })
const getOverview = z.strictObject({
  type: z.literal('get-overview'),
  namespace: idSchema.optional().describe('only of this one; of all where absent'),
})
const getPolicy = z.strictObject({ type: z.literal('get-policy') })
const getWho = z.strictObject({ type: z.literal('get-who') })

const keepMs = z.int().min(0).optional()

export const operationPolicySchema = z.strictObject({
  whenReferenced: z
    .enum(['skip', 'refuse', 'allow'])
    .optional()
    .describe('what a request meets where the resource is free, but nodes use it'),
  waitersOnSuccess: z
    .enum(['skip', 'next'])
    .optional()
    .describe('what a success means to those who wait for the same: they skip, or the next one is granted'),
  addsReference: z.boolean().optional().describe('whether a success, and a skip, adds the node to the references'),
  dropsReferences: z.boolean().optional().describe('whether a success drops all references'),
  keepMs: keepMs.describe('how long a success without a revision is kept; 0: not at all'),
  keepRevisionMs: keepMs.describe('the same of a success with a revision'),
  attempts: z.int().min(0).optional().describe('so many failures in a row end the queue; 0: no limit'),
  retryDelayMs: z.int().min(0).optional().describe('the pause before a hand-over after a failure'),
  contradicts: z
    .array(idSchema)
    .max(100)
    .optional()
    .describe('operations whose kept successes a success of this one drops'),
  queueing: z.boolean().optional().describe("overrides the namespace's switch"),
})

function atMost<Rows extends z.ZodRecord>(limit: number, rows: Rows) {
  return rows.refine((said) => Object.keys(said).length <= limit, `must have ${limit} entries at most`)
}

export const namespacePolicySchema = z.strictObject({
  exclusion: z.enum(['operation', 'resource']).optional().describe('one grant per key, or one per resource'),
  queueing: z.boolean().optional().describe('false: a busy key refuses at once and queues nobody'),
  updateRequiresNoRef: z.boolean().optional().describe('true: an update of a resource that nodes use is refused'),
  claimMs: z
    .int()
    .min(100)
    .max(600_000)
    .optional()
    .describe('how long a grant to a waiter stays unclaimed before it passes on'),
  queueLimit: z.int().min(1).max(1_000_000).optional().describe('how many waiters one key may have'),
  operations: atMost(LIMITS.policyRows, z.record(idSchema, operationPolicySchema))
    .optional()
    .describe('new rows, and changes to the built-in ones'),
})

/** Checks a policy and completes it: what it does not say is as built in. */
export const policySchema = z
  .strictObject({ namespaces: atMost(LIMITS.policyNamespaces, z.record(idSchema, namespacePolicySchema)) })
  .transform((said) => completePolicy(said as SaidPolicy))

const applyPolicy = z.strictObject({
  type: z.literal('apply-policy'),
  version: z.int().min(0).describe('the version that it replaces'),
  policy: policySchema,
})

export const requestSchemas = {
  acquire,
  release,
  renew,
  cancel,
  revoke,
  forget,
  progress,
  'add-reference': addReference,
  'release-reference': releaseReference,
  'drop-node': dropNode,
  'open-session': openSession,
  'renew-session': renewSession,
  'close-session': closeSession,
  'list-places': listPlaces,
  'leave-place': leavePlace,
  'get-resource': getResource,
  'list-waiters': listWaiters,
  'list-resources': listResources,
  'get-timeline': getTimeline,
  'get-overview': getOverview,
  'get-policy': getPolicy,
  'apply-policy': applyPolicy,
  'get-who': getWho,
} as const satisfies Record<RequestType, z.ZodType>

/** Written out, so that its declaration does without zod. */
export type RequestType =
  | 'acquire'
  | 'release'
  | 'renew'
  | 'cancel'
  | 'revoke'
  | 'forget'
  | 'progress'
  | 'add-reference'
  | 'release-reference'
  | 'drop-node'
  | 'open-session'
  | 'renew-session'
  | 'close-session'
  | 'list-places'
  | 'leave-place'
  | 'get-resource'
  | 'list-waiters'
  | 'list-resources'
  | 'get-timeline'
  | 'get-overview'
  | 'get-policy'
  | 'apply-policy'
  | 'get-who'
export type RequestOf<Type extends RequestType> = z.output<(typeof requestSchemas)[Type]>
/** A request as it is after checking, with its defaults filled in. */
export type Request = { [Type in RequestType]: RequestOf<Type> }[RequestType]
/** Those that are about the store. Who asks is known to the server alone: it answers that itself. */
export type ServiceRequest = Exclude<Request, { type: 'get-who' }>
/** A request as a client writes it. */
export type RequestInput = { [Type in RequestType]: z.input<(typeof requestSchemas)[Type]> }[RequestType]

/** A page ends with a namespace and a resource, as JSON. */
function isNext(text: string): boolean {
  try {
    const parts: unknown = JSON.parse(text)
    return Array.isArray(parts) && parts.length === 2 && parts.every((part) => typeof part === 'string')
  } catch {
    return false
  }
}
