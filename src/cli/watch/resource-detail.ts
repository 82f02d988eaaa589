import type { Timeline } from '../../client/api.ts'
import { colourOfLabel, LABEL_WIDTH, resourceLines } from '../print/resource-view.ts'
import { aged } from './aged.ts'
import { type Line, line } from './line.ts'
import { timelineLines } from './timeline.ts'
import type { Watched } from './watched.ts'

interface DetailOptions {
  readonly timeline: Timeline | undefined
  readonly nowMs: number
  readonly width: number
}

/** So many who wait are shown one by one. */
const WAITERS_SHOWN = 1_000

/** All that is known of one resource, and its last grants as a picture. */
export function detailLines({ status }: Watched, { timeline, nowMs, width }: DetailOptions): Line[] {
  const why = status.why?.map((queue) => aged(queue, nowMs - status.nowMs))
  const present = { ...status, ...(why && { why }) }
  const lines = resourceLines(present, nowMs, WAITERS_SHOWN).map((text): Line => {
    const label = text.slice(0, LABEL_WIDTH)
    return [{ text: '  ' }, { text: label, colour: colourOfLabel(label) }, { text: text.slice(LABEL_WIDTH) }]
  })
  if (!timeline || timeline.grants.length === 0) return lines
  return [...lines, [], line('  last grants', 'bold'), ...timelineLines(timeline.grants, nowMs, width)]
}
