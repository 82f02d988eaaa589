import { StateParts, type WireEvent } from '@baton-lock/protocol'
import type { StreamHandlers } from '../connection/transport.ts'

interface WholeHandlers extends Pick<StreamHandlers, 'onEnd'> {
  readonly onEvent: (event: WireEvent, id?: string) => void
}

/** Puts together a state that comes in parts. */
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
