import { errorBody } from '@baton-lock/protocol'
import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'

const lock = ['lock', 'l'] as const

test('wait: keeps trying for as long as it takes', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire, notices } = client({ node: 'a' })
  wire.goDown()
  const running = baton.run(...lock, () => 'done')
  await clock.advance(600_000)
  wire.comeBack()
  await clock.advance(6_000)
  expect(await running).toMatchObject({ status: 'performed' })
  expect(notices).toEqual(['nobody is there; trying again', 'Baton answers again'])
  // The pauses grow to some seconds.
  expect(wire.of('open-session').length).toBeLessThan(200)
})

test('wait: no longer than its wait limit', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  wire.goDown()
  const running = outcomeOf(baton.run(...lock, () => expect.unreachable(), { waitMs: 20_000 }))
  await clock.advance(20_001)
  expect(await running).toBeInstanceOf(UnavailableError)
})

test.each([200, 1_000, 5_000, 60_000])(
  'wait: a wait limit of %d ms is used to its end, and not beyond',
  async (waitMs) => {
    const { client, clock } = newClientWorld()
    const { baton, wire } = client({ node: 'a' })
    wire.goDown()
    let end: unknown
    const startMs = clock.nowMs()
    const running = outcomeOf(baton.lock('l', () => expect.unreachable(), { waitMs })).then((outcome) => {
      end = { outcome, afterMs: clock.nowMs() - startMs }
    })
    await clock.advance(waitMs - 25)
    expect(end).toBeUndefined()
    await clock.advance(25)
    await running
    expect(end).toMatchObject({ outcome: { code: 'unavailable' } })
    // To use the time is not to try all the more.
    expect(wire.of('open-session').length).toBeLessThan(40)
  },
)

test.each([1_000, 5_000])('wait: a server that comes back in the last tenth of %d ms is noticed', async (waitMs) => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  wire.goDown()
  const running = outcomeOf(baton.lock('l', ({ fence }) => fence, { waitMs }))
  await clock.advance(0.9 * waitMs)
  wire.comeBack()
  await clock.advance(0.1 * waitMs)
  expect(await running).toBe(1)
})

test('fail: an UnavailableError after some seconds of trying', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', whenUnavailable: 'fail' })
  wire.goDown()
  const running = outcomeOf(baton.run(...lock, () => expect.unreachable()))
  await clock.advance(5_000)
  expect(await running).toBeInstanceOf(UnavailableError)
})

test('fail: it says what was met while there was time to meet something', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ whenUnavailable: 'fail' })
  const startMs = clock.nowMs()
  // The last tries are swallowed, and have hardly any time.
  wire.fate = () => (clock.nowMs() - startMs < 4_700 ? 'refuse-connection' : 'lose-request')
  const outcome = outcomeOf(baton.status('r'))
  for (let steps = 0; steps < 60; steps++) await clock.advance(100)
  expect(wire.of('get-resource').length).toBeGreaterThan(4)
  expect(await outcome).toMatchObject({ message: 'r: nobody is there' })
})

test('fail: a server that swallows everything is as good as none', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', whenUnavailable: 'fail' })
  wire.fate = () => 'lose-request'
  const running = outcomeOf(baton.run(...lock, () => expect.unreachable()))
  await clock.advance(7_000)
  expect(await running).toBeInstanceOf(UnavailableError)
})

test('fail: one that stands in line bears a silence of 30 s, not of more', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b', ttlMs: 10_000, whenUnavailable: 'fail' })]
  await a.baton.acquire(...lock)
  const waiting = outcomeOf(b.baton.acquire(...lock))
  await settled()
  b.wire.goDown()
  await clock.advance(25_000)
  b.wire.comeBack()
  await clock.advance(10_000)
  expect((await a.baton.status('l')).waiters).toMatchObject([{ node: 'b' }])
  b.wire.goDown()
  await clock.advance(31_000)
  expect(await waiting).toBeInstanceOf(UnavailableError)
})

test('run: the callback runs without a grant, and its fence says so', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire, notices } = client({ node: 'a', whenUnavailable: 'run' })
  wire.goDown()
  const running = baton.run(...lock, ({ fence, signal }) => [fence, signal.aborted])
  await clock.advance(4_000)
  expect(wire.of('release')).toEqual([])
  await clock.advance(1_000)
  expect(await running).toMatchObject({ status: 'performed', fence: 0, result: [0, false] })
  expect(notices).toContain('nobody answers: lock l runs without a grant')
})

test('run: what is there already is skipped without a server too', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a', whenUnavailable: 'run' })
  wire.goDown()
  const running = baton.run('pull', 'p', () => expect.unreachable(), { verify: () => true })
  await clock.advance(5_000)
  expect(await running).toMatchObject({ status: 'skipped' })
})

test('run: an ask that was granted unheard is taken back when the server is there again', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  // The session is opened, the grant is given, and nobody hears of it.
  a.wire.fate = ({ type }) => (type === 'acquire' ? 'lose-reply' : type === 'cancel' ? 'refuse-connection' : 'pass')
  const job = work()
  const running = a.baton.run(...lock, () => job.done, { whenUnavailable: 'run' })
  await clock.advance(10_000)
  expect((await b.baton.status('l')).grants).toHaveLength(1)
  a.wire.comeBack()
  await clock.advance(6_000)
  expect((await b.baton.status('l')).grants).toEqual([])
  job.finish()
  await running
})

test('a store that is away counts as no answer, and is tried again', async () => {
  const { client, clock, service } = newClientWorld()
  const { baton } = client({ node: 'a' })
  const callAll = service.callAll.bind(service)
  let away = true
  service.callAll = async (asked, tell, budget) =>
    away ? tell(0, errorBody('store-unavailable')) : callAll(asked, tell, budget)
  const running = baton.run(...lock, () => 'done')
  await clock.advance(10_000)
  expect(await outcomeOf(Promise.race([running, 'nothing yet']))).toBe('nothing yet')
  away = false
  await clock.advance(5_000)
  expect(await running).toMatchObject({ status: 'performed' })
})

test('questions are asked for some seconds, then nobody answers', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  wire.goDown()
  let isOver = false
  const asking = outcomeOf(baton.status('l')).finally(() => {
    isOver = true
  })
  await clock.advance(4_900)
  expect(isOver).toBe(false)
  await clock.advance(100)
  expect(await asking).toBeInstanceOf(UnavailableError)
})
