import type { ResourceView } from '@baton-lock/core'
import type { PastGrant } from '@baton-lock/protocol'
import { outcomeText } from '@baton-lock/protocol/text/event-text'
import { oneLine } from '@baton-lock/protocol/text/harmless'

/** One grant that has ended, for people. */
interface EndedGrant {
  readonly operation: string
  readonly node: string
  readonly fence: number
  readonly atMs: number
  readonly outcome: string
  readonly text: string
}

const SHOWN = 4

/** The last that have ended, newest first: of what the store remembers and of what this server has seen. */
export function endedOf({ recent }: ResourceView, grants: readonly PastGrant[]): EndedGrant[] {
  const remembered = recent.map(({ operation, node, fence, atMs, outcome }) => ({
    ...{ operation, node, fence, atMs },
    outcome: outcome.outcome,
    text: outcomeText(operation, outcome),
  }))
  const seen = grants.flatMap(({ operation, node, fence, endedAtMs, outcome, error }) =>
    endedAtMs === undefined || outcome === undefined || remembered.some((each) => each.fence === fence)
      ? []
      : [{ ...{ operation, node, fence, atMs: endedAtMs, outcome }, text: textOf(outcome, error) }],
  )
  return [...remembered, ...seen].sort((one, other) => other.fence - one.fence).slice(0, SHOWN)
}

function textOf(outcome: string, error: string | undefined): string {
  return error === undefined ? outcome : `${outcome}: ${oneLine(error).trim()}`
}
