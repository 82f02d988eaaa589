import { StateParts, type WireEvent } from '../protocol/index.ts'
import type { StreamHandlers } from './transport.ts'

interface WholeHandlers extends Pick<StreamHandlers, 'onEnd'> {
  readonly onEvent: (event: WireEvent, id?: string) => void
}

/** Of a state that comes in parts, the handlers are told when it is there, and then all of it. */
export function wholeStates({ onEvent, onEnd }: WholeHandlers): StreamHandlers {
  const parts = new StateParts()
  return {
    onEvent: (event, id) => {
      if (event.type !== 'state-part') {
        if (event.type === 'reset') parts.clear()
        onEvent(event, id)
        return
      }
      const whole = parts.add(event)
      if (whole) onEvent(whole, id)
    },
    onEnd,
  }
}
