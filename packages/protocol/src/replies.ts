import type { Command, Policy, ReplyTo, ResourceView, WaiterView } from '@baton-lock/core'
import type { ErrorBody } from './errors.ts'
import type { Overview, PastGrant } from './overview.ts'
import type { RequestType } from './requests.ts'
import type { Place } from './stream/events.ts'
import type { Role } from './token-schema.ts'

type SessionReply = { readonly status: 'alive'; readonly ttlMs: number; readonly places: number }

/** Whom the server takes an asker for. */
export interface Who {
  readonly status: 'who'
  /** `anybody`: the server has no tokens, and everybody may do everything. */
  readonly role: Role | 'anybody'
  /** Of the token, or of the entry that its certificate stands for. */
  readonly name?: string
  /** That it acts for. */
  readonly nodes?: readonly string[]
  /** The only one that it is good for. */
  readonly namespace?: string
  readonly expiresAtMs?: number
}

interface OtherReplies {
  'drop-node': { readonly status: 'dropped'; readonly resources: number }
  'open-session': SessionReply
  'renew-session': SessionReply
  'close-session': { readonly status: 'closed' }
  'list-places': { readonly status: 'places'; readonly places: readonly Place[] }
  'leave-place': { readonly status: 'done' }
  'get-resource': { readonly status: 'resource'; readonly resource: ResourceView; readonly nowMs: number }
  'list-waiters': { readonly status: 'waiters'; readonly waiters: readonly WaiterView[]; readonly next?: number }
  'list-resources': {
    readonly status: 'resources'
    readonly resources: readonly ResourceView[]
    readonly next?: string
    /** By the clock that all times of a reply go by. */
    readonly nowMs: number
  }
  'get-timeline': { readonly status: 'timeline'; readonly nowMs: number; readonly grants: readonly PastGrant[] }
  'get-overview': { readonly status: 'overview' } & Overview
  'get-policy': { readonly status: 'policy'; readonly version: number; readonly policy: Policy }
  'apply-policy': { readonly status: 'policy'; readonly version: number; readonly policy: Policy }
  'get-who': Who
}

type CommandReply<Type> = Exclude<ReplyTo<Extract<Command, { type: Type }>>, { status: 'refused' }>

/** What each request is answered with. Every refusal has its code and a sentence. */
export type ReplyOf<Type extends RequestType> =
  | (Type extends keyof OtherReplies ? OtherReplies[Type] : CommandReply<Type>)
  | ErrorBody
