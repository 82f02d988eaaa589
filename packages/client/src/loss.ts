import type { Outcome } from '@baton-lock/core'
import { type ErrorBody, formatDuration } from '@baton-lock/protocol'

/** Why a grant was lost. */
export type LossCause =
  /** The event loop was blocked, or the process was stopped, so that the lease could not be renewed. */
  | { readonly kind: 'event-loop-blocked'; readonly forMs: number }
  /** The wall clock went on without the monotonic one: it was set ahead, or the machine slept. */
  | { readonly kind: 'clock-jumped'; readonly byMs: number }
  /** No renewal was answered. `since` is when the last one that was answered was sent. */
  | { readonly kind: 'server-unreachable'; readonly since: Date }
  /** The server refused to renew the session. */
  | { readonly kind: 'renewal-refused'; readonly message: string }
  /** An operator ended the grant. */
  | { readonly kind: 'revoked'; readonly by: string | undefined }
  /** The server has ended the session, or does not know it. */
  | { readonly kind: 'session-ended' }
  /** The server has ended the grant alone. */
  | { readonly kind: 'grant-ended'; readonly message: string }
  /** This client was closed. */
  | { readonly kind: 'client-closed' }

/** The cause in words. */
export function lossText(cause: LossCause): string {
  switch (cause.kind) {
    case 'event-loop-blocked':
      return `the event loop was blocked for ${formatDuration(cause.forMs)}, and the lease was not renewed in time`
    case 'clock-jumped':
      return `the clock jumped ahead by ${formatDuration(cause.byMs)}, or the machine slept`
    case 'server-unreachable':
      return `no server has renewed the lease since ${cause.since.toISOString()}`
    case 'renewal-refused':
      return `the server refuses to renew the lease: ${cause.message}`
    case 'revoked':
      return cause.by === undefined ? 'revoked by an operator' : `revoked by ${cause.by}`
    case 'session-ended':
      return 'the session has ended'
    case 'grant-ended':
      return cause.message
    case 'client-closed':
      return 'the client was closed'
  }
}

/** The client itself has decided that it is lost. The server may know nothing of it. */
export function isOwnLoss({ kind }: LossCause): boolean {
  return OWN_LOSSES.has(kind)
}

const OWN_LOSSES: ReadonlySet<LossCause['kind']> = new Set([
  'event-loop-blocked',
  'clock-jumped',
  'server-unreachable',
  'renewal-refused',
])

/** How another than its holder has ended a grant. */
export function causeOfEnd(outcome: Outcome): LossCause {
  if (outcome.outcome === 'revoked') return { kind: 'revoked', by: outcome.by }
  const message = 'error' in outcome ? outcome.error : 'another hold has ended it'
  return { kind: 'grant-ended', message }
}

/** What a refusal says of a grant; `undefined` if the grant may still be held. */
export function causeOfRefusal({ code, message }: ErrorBody): LossCause | undefined {
  switch (code) {
    case 'session-lost':
      return { kind: 'session-ended' }
    case 'unknown-grant':
    case 'not-holder':
    case 'stale-fence':
      return { kind: 'grant-ended', message }
    default:
      return undefined
  }
}
