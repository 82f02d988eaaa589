import type { QueueWait, WaitReason } from '../rules/wait.ts'
import type { GrantView, PauseView, ResourceView } from './view.ts'

/** What is known beside the view itself. */
export interface WaitFacts {
  readonly nowMs: number
  /** Of the namespace. */
  readonly exclusion: 'operation' | 'resource'
  /** How long an operation is usually held; nothing where that is not known. */
  readonly usualMs: (operation: string) => number | undefined
  /** Cycles of clients that wait for one another, by the fence of the grant that was followed to find each. */
  readonly cycles?: ReadonlyMap<number, WaitReason>
}

/** A client renews three times in a ttl: of one that has let half of it pass, something is wrong. */
const SILENT_SHARE = 0.5

/**
 * Why those who wait for a resource do. Decided from facts alone: where nothing keeps a queue as far as is known, it has no
 * reasons.
 */
export function whyWaiting(view: ResourceView, facts: WaitFacts): readonly QueueWait[] {
  return view.queues.map((queue) => ({ ...queue, reasons: reasonsFor(view, queue.operation, facts) }))
}

function reasonsFor({ grants, pauses }: ResourceView, operation: string, facts: WaitFacts): WaitReason[] {
  const isMeant = (each: { readonly operation: string }) =>
    facts.exclusion === 'resource' || each.operation === operation
  const held = grants.filter(isMeant).flatMap((grant) => {
    const cycle = facts.cycles?.get(grant.fence)
    return [...reasonsOfGrant(grant, facts), ...(cycle ? [cycle] : [])]
  })
  return [...held, ...pauses.filter(isMeant).map((pause) => reasonOfPause(pause, facts))]
}

function reasonsOfGrant(grant: GrantView, { nowMs, usualMs }: WaitFacts): WaitReason[] {
  const { operation, node, fence, claimByMs } = grant
  if (claimByMs !== undefined)
    return [{ why: 'unclaimed', operation, node, passesOnInMs: Math.max(0, claimByMs - nowMs) }]
  const usual = usualMs(operation)
  const held: WaitReason = {
    why: 'held',
    operation,
    node,
    fence,
    forMs: Math.max(0, nowMs - grant.sinceMs),
    ...(usual !== undefined && { usualMs: usual }),
  }
  const { expiresAtMs, renewedAtMs } = grant
  if (expiresAtMs === undefined || renewedAtMs === undefined) return [held]
  const silentMs = nowMs - renewedAtMs
  if (silentMs < SILENT_SHARE * (expiresAtMs - renewedAtMs)) return [held]
  return [held, { why: 'silent', node, forMs: silentMs, expiresInMs: Math.max(0, expiresAtMs - nowMs) }]
}

function reasonOfPause({ operation, untilMs, attempt }: PauseView, { nowMs }: WaitFacts): WaitReason {
  return { why: 'paused', operation, forMs: Math.max(0, untilMs - nowMs), attempt }
}
