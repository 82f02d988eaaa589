import type { ReportedOutcome } from '@baton-lock/core'
import type { Place } from '@baton-lock/protocol'
import type { InputOf } from '../connection/transport.ts'

/** The report of an outcome. `traceparent`: the span of the work, if it is recorded. */
export function releaseOf(
  { namespace, resource, operation, node, owner }: Place,
  {
    hold,
    fence,
    traceparent,
  }: { readonly hold: string; readonly fence: number; readonly traceparent: string | undefined },
  outcome: ReportedOutcome,
): InputOf<'release'> {
  const request = { type: 'release', namespace, resource, operation, node, owner, hold, fence, ...outcome } as const
  return traceparent === undefined || request.outcome === 'cancelled' ? request : { ...request, traceparent }
}
