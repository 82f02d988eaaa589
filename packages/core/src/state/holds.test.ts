import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultNamespacePolicy } from '../policy.ts'
import { step } from '../step.ts'
import { Holds } from './holds.ts'
import { resourceInMemory } from './in-memory.ts'
import type { Lease } from './lease.ts'

const act = fc.record({
  type: fc.constantFrom('set', 'set', 'set', 'delete', 'renew'),
  hold: fc.constantFrom('a', 'b', 'c', 'd', ''),
  session: fc.constantFrom('s', 't', undefined),
  ttlMs: fc.integer({ min: 1, max: 5 }),
})

test('they are as a map of leases is, all of whose implicit ones are renewed together', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const holds = new Holds()
      const map = new Map<string, Lease>()
      let nowMs = 0
      const renew = () => {
        for (const [hold, { ttlMs }] of map) if (ttlMs) map.set(hold, { expiresAtMs: nowMs + ttlMs, ttlMs })
      }
      for (const { type, hold, session, ttlMs } of acts) {
        nowMs++
        if (type === 'delete') expect(holds.delete(hold)).toBe(map.delete(hold))
        else {
          renew()
          const ttls = [...map.values()].flatMap((lease) => lease.ttlMs ?? [])
          expect(holds.renew(nowMs)).toBe(ttls.length > 0 ? Math.max(...ttls) : undefined)
        }
        if (type === 'set') {
          const lease = session === undefined ? { expiresAtMs: nowMs + ttlMs, ttlMs } : { session }
          holds.set(hold, lease)
          map.set(hold, lease)
        }
        const all = [...map]
        const where = (isWanted: (lease: Lease) => boolean) =>
          all.flatMap(([name, lease]) => (isWanted(lease) ? name : []))
        expect([...holds]).toEqual(all)
        expect([...holds.keys(), holds.size]).toEqual([...map.keys(), map.size])
        expect([holds.has(hold), holds.get(hold)]).toEqual([map.has(hold), map.get(hold)])
        expect(holds.nextMs()).toBe(Math.min(...all.map(([, lease]) => lease.expiresAtMs ?? Infinity)))
        expect(holds.due(nowMs + 2)).toEqual(where((lease) => (lease.expiresAtMs ?? Infinity) <= nowMs + 2))
        expect(holds.ofSession('s')).toEqual(where((lease) => lease.session === 's'))
        expect(holds.hangsOff('t')).toBe(where((lease) => lease.session === 't').length > 0)
        expect(new Set(holds.sessions())).toEqual(new Set(all.flatMap(([, lease]) => lease.session ?? [])))
        expect([...new Holds(holds)]).toEqual(all)
      }
    }),
  )
})

test.each([
  ['without a session', () => undefined],
  ['with one for all', () => 's'],
  ['with one each', (index: number) => `s${index}`],
])('a thousand holds of one owner, %s, cost a step no more than one does', (_, sessionOf) => {
  const resource = resourceInMemory('default', 'r')
  const context = { nowMs: 1_000, policy: defaultNamespacePolicy, fenceFloor: 0, nextDeadlineMs: 2_000 }
  const ask = (index: number) =>
    step(
      resource,
      {
        type: 'acquire',
        operation: 'lock',
        node: 'n',
        owner: 'o',
        hold: `h${index}`,
        ttlMs: 30_000 + index,
        session: sessionOf(index),
      },
      context,
    )
  for (let index = 0; index < 990; index++) ask(index)
  const startUs = process.cpuUsage().user
  for (let round = 0; round < 10_000; round++) ask(round % 990)
  // Some 50 ms; three seconds if every step went through all of them.
  expect(process.cpuUsage().user - startUs).toBeLessThan(1_000_000)
  expect(resource.grants.get('lock')!.holds.size).toBe(990)
})
