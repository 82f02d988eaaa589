import type { Facts, Json } from '@baton-lock/core'
import type { ServiceRequest, WireEvent } from '@baton-lock/protocol'
import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { expect, onTestFinished, test } from 'vitest'
import { Service } from '../service.ts'
import { Statistics } from '../statistics/statistics.ts'
import type { Scope } from './fan-out.ts'

const key = { namespace: 'default', resource: 'r', operation: 'pull' }
/** What must not be told to anybody but its owner. */
const SECRET = 'secret-session-of-'

function newWorld() {
  const clock = new SimulatedClock()
  const { log, entries } = recordedLog({ isDebug: true })
  const statistics = new Statistics({ sinceMs: clock.nowMs() })
  const service = new Service({ store: openMemoryStore({ clock }), timers: clock, log, statistics })
  onTestFinished(() => service.close())
  const call = (request: object, facts?: Facts) => service.call(request as ServiceRequest & { type: 'acquire' }, facts)
  const listen = async (scope: Scope, lastId?: string) => {
    const heard: WireEvent[] = []
    const ids: string[] = []
    const hear = (event: WireEvent, id: string) => {
      heard.push(event)
      ids.push(id)
    }
    await service.listen(scope, hear, { lastId })
    return { heard, ids, of: (type: WireEvent['type']) => heard.filter((event) => event.type === type) }
  }
  const ask = async (node: string, more: object = {}) => {
    const session = `${SECRET}${node}`
    await call({ type: 'open-session', session, node, ttlMs: 600_000 })
    return call({ type: 'acquire', ...key, node, owner: `${node}1`, hold: '1', session, ttlMs: 600_000, ...more })
  }
  const ofSession = (node: string) => listen({ of: 'session', session: `${SECRET}${node}` })
  const release = (node: string, outcome: object = { outcome: 'success' }) =>
    call({ type: 'release', ...key, owner: `${node}1`, hold: '1', ...outcome })
  const report = (node: string, fence: number, progress: Json) =>
    call({ type: 'progress', ...key, owner: `${node}1`, fence, progress })
  return { clock, service, statistics, entries, call, listen, ask, ofSession, release, report }
}

test('one object goes to all who listen, whatever they listen to', async () => {
  const { listen, ask, ofSession, release } = newWorld()
  await ask('a')
  await ask('b')
  const listeners = [
    await listen({ of: 'all' }),
    await listen({ of: 'resource', ...key }),
    await listen({ of: 'ask', ...key, owner: 'b1', hold: '1' }),
    await ofSession('b'),
  ]
  await release('a', { outcome: 'failure', error: 'boom' })
  const granted = listeners.map(({ of }) => of('granted'))
  expect(granted[0]).toMatchObject([{ handOver: true, owner: 'b1', fence: 2 }])
  for (const [event, ...more] of granted) {
    expect(event).toBe(granted[0]![0])
    expect(more).toEqual([])
  }
})

test('what many are told names the place of each to itself, and to those who watch the first thousand', async () => {
  const { listen, call, ask, ofSession, release, report } = newWorld()
  await ask('a')
  await ask('b')
  for (let index = 0; index < 1_100; index++)
    await call({ type: 'acquire', ...key, node: 'n', owner: `o${index}`, hold: '1', ttlMs: 600_000 })
  await ask('c')
  const all = await listen({ of: 'all' })
  const one = await listen({ of: 'ask', ...key, owner: 'o7', hold: '1' })
  const sessions = [await ofSession('b'), await ofSession('c')]
  await report('a', 1, { percent: 40 })
  await release('a')
  const { operation } = key
  const b = { operation, node: 'b', owner: 'b1' }
  const c = { operation, node: 'c', owner: 'c1' }
  const o7 = { operation, node: 'n', owner: 'o7' }
  for (const [index, actor] of [b, c].entries()) {
    expect(sessions[index]!.of('told')).toMatchObject([{ count: 1_102, askers: [actor] }])
    expect(sessions[index]!.of('progress')).toMatchObject([{ node: 'a', progress: { percent: 40 }, askers: [actor] }])
  }
  expect(one.of('told')).toMatchObject([{ count: 1_102, askers: [o7] }])
  expect(one.of('progress')).toMatchObject([{ node: 'a', askers: [o7] }])
  const [told] = all.of('told') as [Extract<WireEvent, { type: 'told' }>]
  expect([told.count, told.askers!.length, told.askers![0], told.askers![8]]).toEqual([1_102, 1_000, b, o7])
  expect(all.of('progress')).toEqual([expect.not.objectContaining({ askers: expect.anything() })])
})

test('a session that waits under two owners is told of each', async () => {
  const { ask, ofSession, release, call } = newWorld()
  await ask('a')
  await ask('b')
  await ask('b', { owner: 'b2' })
  const { of } = await ofSession('b')
  await release('a')
  expect(of('told').map((event) => (event as { askers?: object[] }).askers)).toMatchObject([
    [{ owner: 'b1' }],
    [{ owner: 'b2' }],
  ])
  expect(await call({ type: 'acquire', ...key, node: 'b', owner: 'b3', hold: '1', ttlMs: 600_000 })).toMatchObject({
    status: 'skip',
  })
})

test('no session is named to anybody: not in what is told, told again, counted or logged', async () => {
  const { clock, service, statistics, entries, call, listen, ask, ofSession, release, report } = newWorld()
  const all = await listen({ of: 'all' })
  const resource = await listen({ of: 'resource', ...key })
  await ask('a')
  await ask('a', { hold: '2' })
  await ask('b')
  await ask('c', { operation: 'update' })
  const own = await ofSession('b')
  await report('a', 1, 1)
  await report('a', 1, 2)
  await clock.advance(1_000)
  await release('a', { outcome: 'cancelled' })
  await call({ type: 'revoke', ...key })
  await ask('b')
  await ask('d')
  await call({ type: 'close-session', session: `${SECRET}d` })
  await release('b')
  await settled()
  const again = await listen({ of: 'all' }, all.ids[0])
  const types = new Set(all.heard.map(({ type }) => type))
  const expected = ['granted', 'queued', 'hold-ended', 'progress', 'ended', 'claimed', 'left', 'referenced', 'state']
  for (const type of expected) expect(types).toContain(type)
  const { nowMs } = clock
  const seen = [
    ...[all.heard, resource.heard, own.heard, again.heard, entries],
    ...[statistics.timeline(key), statistics.overview(undefined, nowMs.call(clock)), [...statistics.series()]],
    await service.call({ type: 'list-resources', limit: 100 } as never),
  ]
  expect(again.heard).toEqual(all.heard.slice(1))
  expect(JSON.stringify(seen)).not.toContain(SECRET)
})
