import { eventText, oneLine, type WireEvent } from '../../protocol/index.ts'

/** One event as one line for people; nothing for those that only begin a stream. */
export function renderEvent(event: WireEvent): string | undefined {
  if (event.type === 'state') return undefined
  if (event.type === 'reset') return 'some events were missed'
  return oneLine([clock(event.atMs), placeOf(event), eventText(event)].join('  '))
}

function placeOf(event: Extract<WireEvent, { atMs: number }>): string {
  const resource = event.namespace === 'default' ? event.resource : `${event.namespace}/${event.resource}`
  return 'operation' in event ? `${event.operation} ${resource}` : resource
}

function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23)
}
