import { defaultPolicy } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { seededRandom } from '../conformance/random.ts'
import { Resident } from './resident.ts'

const namespaces = ['default', 'content', 'made-up']
const operations = ['pull', 'update', 'delete', 'lock']

/** What a look at every resource finds. */
function scanned({ shards }: Resident): Map<string, number> {
  const found = new Map<string, number>()
  for (const slot of shards.active()) {
    const { waiters, namespace } = slot.read()
    for (const operation of waiters.operations()) {
      const name = `${namespace} ${operation}`
      found.set(name, (found.get(name) ?? 0) + waiters.count(operation))
    }
  }
  return found
}

test('what was counted on the way is what a look at all queues finds, whatever has happened to them', () => {
  const random = seededRandom(7)
  const resident = new Resident({ policy: { version: 1, policy: defaultPolicy } })
  let nowMs = 1_000
  let most = 0
  for (let round = 0; round < 3_000; round++) {
    const namespace = random.pick(namespaces)
    const at = { namespace, resource: random.pick(['r', 's']) }
    const node = random.pick(['a', 'b', 'c', 'd', 'e'])
    const actor = { operation: random.pick(operations), node, owner: node, hold: `${random.integer(4)}` }
    const step = (command: Parameters<Resident['step']>[1]['command']) => resident.step(at, { command, nowMs })
    const grant = resident.read(at, nowMs)?.grants.get(actor.operation)
    switch (random.integer(6)) {
      case 0:
      case 1:
      case 2:
        resident.openSession({ session: node, node, ttlMs: 5_000 }, nowMs)
        step({
          type: 'acquire',
          ...actor,
          ttlMs: 3_000,
          ...(random.integer(2) === 0 && { session: node, waitMs: 4_000 }),
        })
        break
      case 3:
        step({ type: 'cancel', ...actor })
        break
      case 4:
        if (grant) step({ type: 'revoke', operation: grant.operation, fence: grant.fence })
        break
      default:
        nowMs += random.integer(1_500)
        resident.sweep(100, nowMs)
        if (random.integer(10) === 0) resident.closeSession(node, nowMs)
    }
    const listed = new Map(resident.queues.list().map((each) => [`${each.namespace} ${each.operation}`, each.waiting]))
    expect(listed).toEqual(scanned(resident))
    most = Math.max(most, listed.size)
  }
  expect(most).toBeGreaterThan(5)
  const before = scanned(resident)
  resident.takeStock()
  expect(scanned(resident)).toEqual(before)
})
