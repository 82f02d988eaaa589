import type { Answer, Event, Outcome } from '@baton-lock/core'
import { oneLine } from './harmless.ts'
import { shortJson } from './short-json.ts'

/** What has happened, for people, on one line: the resource and the time are said elsewhere. */
export function eventText(event: Event): string {
  const node = 'node' in event ? oneLine(event.node) : ''
  switch (event.type) {
    case 'queued':
      return `${node} waits, place ${event.position}`
    case 'granted': {
      const again = event.attempt > 1 ? `, attempt ${event.attempt}` : ''
      return `${node} ${event.handOver ? 'is handed the baton' : 'has the baton'} (fence ${event.fence}${again})`
    }
    case 'claimed':
      return `${node} begins (fence ${event.fence})`
    case 'left':
      return `${node} left the line`
    case 'hold-ended':
      return `${node} let go of one hold (fence ${event.fence})`
    case 'told':
      return `${event.count} who waited: ${answerText(event.answer)}`
    case 'ended':
      return `${node} ended: ${outcomeText(event.operation, event.outcome)} (fence ${event.fence})`
    case 'progress':
      return `${node} says ${shortJson(event.progress)}`
    case 'referenced':
      return `${node} uses it`
    case 'dereferenced':
      return `${node} no longer uses it`
  }
}

function answerText(answer: Answer): string {
  switch (answer.status) {
    case 'skip':
      return answer.by === undefined
        ? 'skip, nodes use it already'
        : `skip, ${oneLine(answer.by)} did it (fence ${answer.fence})`
    case 'failed':
      return `failed for good by ${oneLine(answer.by)}`
    case 'refused':
      return `refused, ${answer.code}`
  }
}

/** Who lets go of one of these says nothing of the work: it may have thrown. */
const LETS_GO = new Set(['lock', 'lead'])

/** How a grant has ended, for people. */
export function outcomeText(operation: string, outcome: Outcome): string {
  switch (outcome.outcome) {
    case 'success':
      if (LETS_GO.has(operation)) return 'released'
      return outcome.effect === 'none' ? 'success, nothing was to be done' : 'success'
    case 'failure':
      return `${outcome.permanent ? 'permanent failure' : 'failure'}: ${oneLine(outcome.error).trim()}`
    case 'cancelled':
      return 'cancelled'
    default:
      return `${outcome.outcome}: ${oneLine(outcome.error).trim()}`
  }
}
