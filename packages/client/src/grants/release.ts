import type { Json, ReportedOutcome } from '@baton-lock/core'
import type { Place, ReplyOf } from '@baton-lock/protocol'
import type { InputOf } from '../connection/transport.ts'
import type { Interrupt } from '../requests/interrupt.ts'
import type { Sender } from '../requests/sender.ts'

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

/**
 * Sends a report until it is acknowledged. If its result is too large, it goes without it: to do the work again would not make its result
 * smaller.
 */
export async function sendRelease(
  sender: Sender,
  outcome: ReportedOutcome,
  {
    request,
    interrupt,
    onOmitted,
  }: {
    readonly request: (outcome: ReportedOutcome) => InputOf<'release'>
    readonly interrupt: Interrupt
    readonly onOmitted: (result: Json) => void
  },
): Promise<ReplyOf<'release'>> {
  const tries = { leftMs: forever, interrupt }
  const reply = await sender.request<'release'>(request(outcome), tries)
  if (reply.status !== 'refused' || reply.code !== 'too-large' || !('result' in outcome)) return reply
  const { result = null, ...without } = outcome
  onOmitted(result)
  return sender.request<'release'>(request({ ...without, resultOmitted: true }), tries)
}

function forever(): number {
  return Infinity
}
