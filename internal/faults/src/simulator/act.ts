import { type Performer, perform, recorded } from '../calls/perform.ts'
import { attack } from './attack.ts'
import type { Action } from './plan.ts'
import { raw } from './raw.ts'
import type { SimulatedClient, World } from './world.ts'

/** What a client does for one action of the plan. Resolves when its caller has the answer, whatever it is. */
export function act(world: World, action: Action, number: number): Promise<void> {
  const client = world.clients[action.client]!
  const performer = performerOf(world, client)
  switch (action.by) {
    case 'sdk':
      return perform(performer, action, number)
    case 'raw':
      return recorded(performer, action, number, () => raw(world, client, action))
    case 'attack':
      return recorded(performer, action, number, () => attack(world, action))
  }
}

function performerOf(
  { scheduler, history, fenced, policy }: World,
  { name, process, baton }: SimulatedClient,
): Performer {
  const after = (ms: number, callback: () => void) => void scheduler.after(process, ms, callback)
  const isExclusive = policy.namespaces.default!.exclusion === 'resource'
  return {
    name,
    baton,
    nowMs: () => scheduler.nowMs(),
    pause: (ms) => new Promise((resolve) => after(ms, resolve)),
    abortAfter(ms) {
      const abort = new AbortController()
      after(ms, () => abort.abort())
      return abort.signal
    },
    write: ({ operation, resource }, fence) => fenced.write(isExclusive ? resource : `${operation} ${resource}`, fence),
    record: (record) => history.push(record),
  }
}
