import { expect, test } from 'vitest'
import { newClientWorld, outcomeOf, type TestClient } from '../../testing/unit/client-world.ts'
import { idOf, linkedFrom, recordedSpans } from '../../testing/unit/recorded-spans.ts'

/** As a server of before there were spans: it takes no field that it does not know. */
function asOlderServer({ wire }: TestClient): void {
  wire.fate = ({ traceparent }) => (traceparent === undefined ? 'pass' : 'refuse-request')
}

const named = ({ wire }: TestClient) => wire.sent.filter(({ traceparent }) => traceparent !== undefined).length

test('a server that does not know of spans is asked without, and not told of any for a minute', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const client = world.client({ node: 'a', tracer })
  asOlderServer(client)
  expect(await client.baton.once('r', () => 1, { keepMs: 3_600_000 })).toMatchObject({ status: 'performed' })
  expect(await client.baton.once('r', () => 2)).toMatchObject({ status: 'skipped', result: 1 })
  expect(client.wire.of('acquire').map(({ traceparent }) => traceparent !== undefined)).toEqual([true, false, false])
  expect(client.wire.of('release')).toHaveLength(1)
  expect(ended().map(({ name }) => name)).toEqual(['baton ask once', 'baton work once', 'baton ask once'])
  expect(linkedFrom(ended().at(-1)!)).toEqual([])
  await world.clock.advance(59_000)
  await client.baton.lock('l', () => {})
  expect(named(client)).toBe(1)
})

test('after a minute it is tried again: another server may answer by then', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const client = world.client({ node: 'a', tracer })
  asOlderServer(client)
  await client.baton.lock('l', () => {})
  await world.clock.advance(60_000)
  client.wire.comeBack()
  await client.baton.once('r', () => 1, { keepMs: 1_000 })
  await client.baton.once('r', () => 1)
  const [work] = ended('baton work once')
  expect(linkedFrom(ended().at(-1)!)).toEqual([idOf(work!)])
})

test('where the first to be refused is a release, it is reported without, once', async () => {
  const { tracer } = recordedSpans()
  const client = newClientWorld().client({ node: 'a', tracer })
  const grant = await client.baton.acquire('once', 'r')
  asOlderServer(client)
  await grant.fail(new Error('x'))
  expect(client.wire.of('release').map(({ traceparent }) => traceparent !== undefined)).toEqual([true, false])
  expect(await client.baton.status('r')).toMatchObject({ grants: [], recent: [{ outcome: { error: 'x' } }] })
})

test('what is refused for another reason is refused, and spans are named on', async () => {
  const { tracer } = recordedSpans()
  const client = newClientWorld().client({ node: 'a', tracer })
  client.wire.fate = ({ type }) => (type === 'acquire' ? 'refuse-request' : 'pass')
  expect(await outcomeOf(client.baton.lock('l'))).toMatchObject({ code: 'bad-request' })
  expect(client.wire.of('acquire')).toHaveLength(2)
  client.wire.comeBack()
  await client.baton.lock('l', () => {})
  expect(named(client)).toBe(3)
})
