import type { ReportedOutcome } from '@baton-lock/core'
import type { Place, ReplyOf } from '@baton-lock/protocol'
import type { InputOf } from '../connection/transport.ts'
import type { Interrupt } from '../requests/interrupt.ts'
import type { Sender } from '../requests/sender.ts'
import { tooLarge } from './outcome.ts'

/** The report of an outcome. `traceparent`: the span of the work, if it is recorded. */
export function releaseOf(
  { place, hold, fence }: { readonly place: Place; readonly hold: string; readonly fence: number },
  outcome: ReportedOutcome,
  traceparent: string | undefined,
): InputOf<'release'> {
  const { namespace, resource, operation, node, owner } = place
  const request = { type: 'release', namespace, resource, operation, node, owner, hold, fence, ...outcome } as const
  return traceparent === undefined || request.outcome === 'cancelled' ? request : { ...request, traceparent }
}

interface Release {
  request(outcome: ReportedOutcome): InputOf<'release'>
  readonly outcome: ReportedOutcome
  /** Ends it before it is acknowledged. */
  readonly interrupt: Interrupt
  /** The server does not take the result: it is left out, and this is why. */
  onOmitted(why: string): void
}

/** Reports an outcome until it is acknowledged or refused. */
export async function sendRelease(
  sender: Sender,
  { request, outcome, interrupt, onOmitted }: Release,
): Promise<ReplyOf<'release'>> {
  const tries = { leftMs: forever, interrupt }
  const reply = await sender.request<'release'>(request(outcome), tries)
  if (reply.status !== 'refused' || reply.code !== 'too-large' || !('result' in outcome)) return reply
  const { result = null, ...without } = outcome
  onOmitted(tooLarge(result))
  return await sender.request<'release'>(request({ ...without, resultOmitted: true }), tries)
}

function forever(): number {
  return Infinity
}
