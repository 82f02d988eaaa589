import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameOf } from '../address.ts'
import { type Held, type PlaceAt, placesAt, SessionPlaces } from './session-places.ts'

const act = fc.record({
  isGained: fc.boolean(),
  at: fc.nat(2),
  session: fc.constantFrom('s', 't'),
  operation: fc.constantFrom('lock', 'pull'),
  node: fc.constantFrom('a', 'b'),
  owner: fc.constantFrom('o', 'oo'),
})

test('a session has the places that it has gained and not lost, as they came, and leaves them by name', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60, size: 'max' }), (acts) => {
      // The same id in two namespaces is two resources.
      const resources: Held[] = ['n', 'm', 'n'].map((namespace, index) => ({
        namespace,
        resource: index === 2 ? 'q' : 'r',
        places: undefined,
      }))
      const sessions = { s: new SessionPlaces(), t: new SessionPlaces() }
      const expected = { s: new Map<string, unknown>(), t: new Map<string, unknown>() }
      for (const { isGained, at: index, session, ...of } of acts) {
        const at = resources[index]!
        const name = JSON.stringify([nameOf(at), of.operation, of.node, of.owner])
        const places = sessions[session as 's']
        if (isGained) places.add(at, { session, ...of })
        else places.delete(at, { session, ...of })
        const { namespace, resource } = at
        if (!isGained) expected[session as 's'].delete(name)
        else if (!expected[session as 's'].has(name)) expected[session as 's'].set(name, { namespace, resource, ...of })
        expect(places.size).toBe(expected[session as 's'].size)
        expect(places.all()).toEqual([...expected[session as 's'].values()])
      }
      const byName = [...expected.s].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place)
      const plain = ({ at: { namespace, resource }, operation, node, owner }: PlaceAt) => {
        return { namespace, resource, operation, node, owner }
      }
      expect(sessions.s.some(60).map(plain)).toEqual(byName)
      const first = [...expected.t.values()].slice(0, 2)
      if (expected.t.size > 2) expect(sessions.t.some(2).map(plain)).toEqual(first)
      expect(new Set(resources.flatMap(placesAt))).toEqual(new Set([...sessions.s.some(60), ...sessions.t.some(60)]))
      for (const each of [sessions.s, sessions.t]) for (const place of each.some(60)) each.delete(place.at, place)
      expect([sessions.s.all(), sessions.t.all()]).toEqual([[], []])
      expect(resources.map(({ places }) => places)).toEqual([undefined, undefined, undefined])
    }),
  )
})
