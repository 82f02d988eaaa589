import type { Answer } from '../../core/index.ts'
import { oneLine, type WireEvent } from '../../protocol/index.ts'
import { shortJson } from './json.ts'
import { outcomeText } from './resource-view.ts'

/** One event as one line for people; nothing for those that only begin a stream. */
export function renderEvent(event: WireEvent): string | undefined {
  if (event.type === 'state') return undefined
  if (event.type === 'reset') return 'some events were missed'
  return oneLine([clock(event.atMs), placeOf(event), textOf(event)].join('  '))
}

type Dated = Extract<WireEvent, { atMs: number }>

function placeOf(event: Dated): string {
  const resource = event.namespace === 'default' ? event.resource : `${event.namespace}/${event.resource}`
  return 'operation' in event ? `${event.operation} ${resource}` : resource
}

function textOf(event: Dated): string {
  switch (event.type) {
    case 'queued':
      return `${event.node} waits, place ${event.position}`
    case 'granted': {
      const again = event.attempt > 1 ? `, attempt ${event.attempt}` : ''
      return `${event.node} ${event.handOver ? 'is handed the baton' : 'has the baton'} (fence ${event.fence}${again})`
    }
    case 'claimed':
      return `${event.node} begins (fence ${event.fence})`
    case 'left':
      return `${event.node} left the line`
    case 'hold-ended':
      return `${event.node} let go of one hold (fence ${event.fence})`
    case 'told':
      return 'count' in event
        ? `${event.count} who waited: ${answerText(event.answer)}`
        : `${event.node} was told: ${answerText(event.answer)}`
    case 'ended':
      return `${event.node} ended: ${outcomeText(event.operation, event)} (fence ${event.fence})`
    case 'progress':
      return `${event.node} says ${shortJson(event.progress)}`
    case 'referenced':
      return `${event.node} uses it`
    case 'dereferenced':
      return `${event.node} no longer uses it`
  }
}

function answerText(answer: Answer): string {
  switch (answer.status) {
    case 'skip':
      return answer.by === undefined
        ? 'skip, nodes use it already'
        : `skip, ${answer.by} did it (fence ${answer.fence})`
    case 'failed':
      return `failed for good by ${answer.by}`
    case 'refused':
      return `refused, ${answer.code}`
  }
}

function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23)
}
