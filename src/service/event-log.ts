import type { StoreEvent } from '../stores/store.ts'
import type { Log } from './log.ts'

/** Writes down every grant, hand-over and end that this process has caused. */
export function logEvent(log: Log, event: StoreEvent): void {
  if (event.elsewhere) return
  const { namespace, resource } = event
  if (event.type === 'granted') {
    const { operation, asker, fence, attempt, handOver, waitedMs } = event
    const { node, owner } = asker
    const fields = { namespace, resource, operation, node, owner, fence, attempt }
    if (handOver) log.debug('handed over', { ...fields, waitedMs })
    else log.debug('granted', fields)
  } else if (event.type === 'ended') {
    const { operation, node, owner, fence, attempt, outcome, heldMs } = event
    const fields = { namespace, resource, operation, node, owner, fence, attempt, heldMs }
    log.debug('grant ended', { ...fields, outcome: outcome.outcome })
  }
}
