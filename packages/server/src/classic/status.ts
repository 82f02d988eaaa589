import type { Facts, Standing } from '@baton-lock/core'
import type { Service } from '@baton-lock/service'
import type { Answer, Exchange } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import { addressOf, askOf, type ClassicAsk, NAMESPACE, placeOf } from './ask.ts'
import { acquireOf } from './lock.ts'
import type { ClassicOptions } from './options.ts'

interface Status {
  readonly acquired: boolean
  readonly completed: boolean
  readonly success: boolean
  readonly error: string
}

const WAITING: Status = { acquired: false, completed: false, success: false, error: '' }
const ACQUIRED: Status = { ...WAITING, acquired: true }
const SUCCEEDED: Status = { ...WAITING, completed: true, success: true }

/** GET or POST /lock/status, for clients that poll. A poll is a sign of life, and claims what it finds; a browser's GET does neither. */
export function statusRoutes({ service, guard }: ClassicOptions): HttpRoute[] {
  const handle = async (exchange: Exchange): Promise<Answer> => {
    const { asker } = exchange
    // In the query or in the body, whatever the method.
    const ask = askOf(exchange.body ?? exchange.query)
    const facts = guard.checkClassic(asker, { namespace: NAMESPACE, node: ask.node })
    const json = asker.onlyLooks ? await seenStatus(service, ask) : await statusOf(service, ask, facts)
    return { status: 200, json }
  }
  const refused = ({ message }: { readonly message: string }) => ({ ...WAITING, error: message })
  return [{ method: ['GET', 'POST'], path: '/lock/status', handle, refused }]
}

async function statusOf(service: Service, ask: ClassicAsk, facts: Facts): Promise<Status> {
  const { hold, ...place } = placeOf(ask)
  const standing = await service.standing({ ...place, hold })
  // This reply delivers the answer.
  if ('fence' in standing && standing.status !== 'granted')
    await service.heard({ ...place, hold, fence: standing.fence }, facts)
  switch (standing.status) {
    case 'granted': {
      if (standing.claimed) return ACQUIRED
      const claim = await service.command(addressOf(ask), acquireOf(ask), facts)
      return claim.status === 'granted' ? ACQUIRED : WAITING
    }
    case 'queued':
      await service.call({ type: 'renew', ...place }, facts)
      return WAITING
    default:
      return endedStatus(service, ask, standing)
  }
}

/** The same without changing anything. An unclaimed grant does not show as acquired: nobody may start on it. */
async function seenStatus(service: Service, ask: ClassicAsk): Promise<Status> {
  const standing = await service.standing(placeOf(ask))
  if (standing.status === 'granted') return standing.claimed ? ACQUIRED : WAITING
  return standing.status === 'queued' ? WAITING : endedStatus(service, ask, standing)
}

async function endedStatus(
  service: Service,
  ask: ClassicAsk,
  standing: Exclude<Standing, { status: 'granted' | 'queued' }>,
): Promise<Status> {
  switch (standing.status) {
    case 'skip':
      return SUCCEEDED
    case 'failed':
      return failed(standing.error)
    case 'refused':
      return (await service.lateSkip(addressOf(ask), ask.operation)) ? SUCCEEDED : failed(standing.code)
    case 'nothing':
      return completedStatus(service, ask)
  }
}

/** For a node that does not wait: how the last work on the key ended, as far as that is known. */
async function completedStatus(service: Service, ask: ClassicAsk): Promise<Status> {
  const address = addressOf(ask)
  if (await service.lateSkip(address, ask.operation)) return SUCCEEDED
  const view = await service.look(address)
  const isOfKey = ({ operation }: { operation: string }) => operation === ask.operation
  if (view?.grants.some(isOfKey)) return WAITING
  const outcome = view?.recent.find(isOfKey)?.outcome
  if (!outcome) return WAITING
  if (outcome.outcome === 'success') return SUCCEEDED
  return failed('error' in outcome ? outcome.error : outcome.outcome)
}

function failed(error: string): Status {
  return { ...WAITING, completed: true, error }
}
