import { eventText, oneLine, type WireEvent } from '@baton-lock/protocol'
import { qualified } from './resource-view.ts'

/** One event as one line for people; nothing for those that only begin a stream. */
export function renderEvent(event: WireEvent): string | undefined {
  if (event.type === 'state') return undefined
  if (event.type === 'reset') return 'some events were missed'
  return oneLine([clock(event.atMs), placeOf(event), eventText(event)].join('  '))
}

function placeOf(event: Extract<WireEvent, { atMs: number }>): string {
  const resource = qualified(event)
  return 'operation' in event ? `${event.operation} ${resource}` : resource
}

function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23)
}
