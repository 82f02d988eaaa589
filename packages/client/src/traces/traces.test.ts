import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { idOf, linkedFrom, recordedSpans, seen } from '@baton-lock/test-support/recorded-spans'
import { trace } from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import type { Grant } from '../api.ts'
import { PermanentError } from '../errors.ts'

/** What both spans of one piece of work say of it. */
const what = { 'baton.namespace': 'default', 'baton.operation': 'once', 'baton.resource': 'r', 'baton.node': 'a' }
const locked = { ...what, 'baton.operation': 'lock' }

test('a lock is an ask and its work, below the span of the caller; what the callback does is below the work', async () => {
  const { tracer, ended } = recordedSpans()
  const { baton } = newClientWorld().client({ node: 'a', tracer })
  await tracer.startActiveSpan('mine', async (span) => {
    await baton.lock('r', () => tracer.startActiveSpan('inner', (inner) => inner.end()))
    span.end()
  })
  const [ask, inner, done, mine] = ended()
  expect([ask, done].map((span) => seen(span!))).toEqual([
    {
      name: 'baton ask lock',
      attributes: { ...locked, 'baton.status': 'granted', 'baton.fence': 1, 'baton.attempt': 1 },
      events: [],
      isError: false,
    },
    {
      name: 'baton work lock',
      attributes: { ...locked, 'baton.fence': 1, 'baton.attempt': 1, 'baton.outcome': 'success' },
      events: [],
      isError: false,
    },
  ])
  expect([ask!.kind, done!.kind]).toEqual([2, 0])
  const parents = [ask, inner, done].map((span) => span!.parentSpanContext?.spanId)
  expect(parents).toEqual([idOf(mine!), idOf(done!), idOf(mine!)])
})

test('one that waits says where it stood, that its turn came, and that it claimed it', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const holder = await world.client({ node: 'b' }).baton.lock('r')
  const waiting = world.client({ node: 'a', tracer }).baton.lock('r', () => 'done')
  await world.clock.advance(1_500)
  await holder.release()
  expect(await waiting).toBe('done')
  const [ask] = ended('baton ask lock')
  expect(seen(ask!)).toMatchObject({
    attributes: { 'baton.position': 1, 'baton.waited_ms': 1_500, 'baton.status': 'granted', 'baton.fence': 2 },
    events: ['queued', 'granted', 'claimed'],
  })
  expect(ask!.events[0]!.attributes).toEqual({ 'baton.position': 1 })
})

test('whoever skips is linked to the span of the work: who waited, and who comes an hour later', async () => {
  const [performing, skipping] = [recordedSpans(), recordedSpans()]
  const world = newClientWorld()
  const a = world.client({ node: 'a', tracer: performing.tracer }).baton
  const b = world.client({ node: 'b', tracer: skipping.tracer }).baton
  const job = work<string>()
  const both = [a.once('r', () => job.done, { keepMs: 3_700_000 }), b.once('r', () => 'anew')]
  await settled()
  job.finish('page')
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual(['performed', 'skipped'])
  await world.clock.advance(3_600_000)
  expect(await b.once('r', () => 'anew')).toMatchObject({ status: 'skipped', result: 'page' })
  const [performed] = performing.ended('baton work once')
  const skips = skipping.ended()
  expect(skips.map(({ name }) => name)).toEqual(['baton ask once', 'baton ask once'])
  for (const skip of skips) {
    expect(linkedFrom(skip)).toEqual([idOf(performed!)])
    expect(skip.links[0]).toMatchObject({
      context: { traceId: performed!.spanContext().traceId, isRemote: true },
      attributes: { 'baton.relation': 'performer' },
    })
    expect(skip.attributes).toMatchObject({ 'baton.status': 'skipped', 'baton.skipped_by': 'a', 'baton.fence': 1 })
  }
  expect((await b.status('r')).kept[0]?.traceparent).toContain(idOf(performed!))
})

test('a failure is an exception of its work; the next try, and whoever is told of it, is linked to that', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const [a, b, c] = ['a', 'b', 'c'].map((node) => world.client({ node, tracer }).baton)
  const [first, second] = [work(), work()]
  const all = [a!.once('r', () => first.done), b!.once('r', () => second.done), c!.once('r', () => {})]
  const outcomes = Promise.all(all.map(outcomeOf))
  await settled()
  first.fail(new RangeError('too far'))
  await settled()
  second.fail(new PermanentError('404'))
  expect(await outcomes).toMatchObject([{ message: 'too far' }, { message: '404' }, { code: 'failed-for-good' }])
  const [failed, retry] = ended('baton work once')
  expect(seen(failed!)).toEqual({
    name: 'baton work once',
    attributes: {
      ...what,
      'baton.fence': 1,
      'baton.attempt': 1,
      'baton.outcome': 'failure',
      'error.type': 'RangeError',
    },
    events: ['exception'],
    isError: true,
  })
  expect(failed!.events[0]!.attributes).toMatchObject({
    'exception.type': 'RangeError',
    'exception.message': 'too far',
    'exception.stacktrace': expect.stringContaining('traces.test.ts'),
  })
  expect(retry!.attributes).toMatchObject({ 'baton.attempt': 2, 'baton.node': 'b' })
  expect(retry!.links).toMatchObject([
    { context: { spanId: idOf(failed!) }, attributes: { 'baton.relation': 'previous-attempt' } },
  ])
  const told = ended('baton ask once').find(({ attributes }) => attributes['baton.node'] === 'c')
  expect(linkedFrom(told!)).toEqual([idOf(retry!)])
  expect(seen(told!)).toMatchObject({
    attributes: { 'baton.status': 'failed-for-good', 'error.type': 'failed-for-good' },
    isError: true,
  })
})

test('a lost grant is an event of its work, when it happens, and an error in the end', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a', tracer })
  const job = work()
  const running = outcomeOf(baton.once('r', () => job.done))
  await world.clock.advance(1_500)
  await baton.revoke('once', 'r')
  await settled()
  expect(ended('baton work once')).toEqual([])
  job.finish()
  expect(await running).toMatchObject({ code: 'grant-lost' })
  expect(seen(ended('baton work once')[0]!)).toMatchObject({
    attributes: { 'baton.outcome': 'lost', 'error.type': 'grant-lost' },
    events: ['lost', 'exception'],
    isError: true,
  })
})

const ends: readonly [how: string, end: (grant: Grant, world: Revoking) => Promise<unknown>, seen: object][] = [
  ['succeeds', (grant) => grant.succeed(), { 'baton.outcome': 'success' }],
  ['fails', (grant) => grant.fail(new Error('x')), { 'baton.outcome': 'failure', 'error.type': 'Error' }],
  ['is cancelled', (grant) => grant.cancel(), { 'baton.outcome': 'cancelled' }],
  ['is left', async (grant) => grant[Symbol.asyncDispose](), { 'baton.outcome': 'failure', 'error.type': 'Error' }],
  ['is lost', (_, { revoke }) => revoke(), { 'baton.outcome': 'lost', 'error.type': 'grant-lost' }],
]

interface Revoking {
  revoke(): Promise<unknown>
}

test.each(ends)('a grant without a callback: its span ends when it %s, and only then', async (_, end, attributes) => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a', tracer })
  const grant = await baton.acquire('once', 'r')
  await world.clock.advance(1_500)
  expect(ended().map(({ name }) => name)).toEqual(['baton ask once'])
  await end(grant, { revoke: () => baton.revoke('once', 'r') })
  await settled()
  const [done] = ended('baton work once')
  expect(done!.attributes).toEqual({ ...what, 'baton.fence': 1, 'baton.attempt': 1, ...attributes })
  expect(done!.status.code).toBe('error.type' in attributes ? 2 : 0)
  // What comes after the end changes nothing.
  await grant.succeed().catch(() => {})
  await grant[Symbol.asyncDispose]()
  expect(ended('baton work once')).toHaveLength(1)
})

test('the first report is the outcome of the span, also while it is under way', async () => {
  const { tracer, ended } = recordedSpans()
  const { baton } = newClientWorld().client({ node: 'a', tracer })
  const grant = await baton.acquire('once', 'r')
  const first = grant.succeed()
  expect(await outcomeOf(grant.fail(new Error('too late')))).toMatchObject({ code: 'ended' })
  await grant[Symbol.asyncDispose]()
  await first
  expect(ended('baton work once').map(seen)).toMatchObject([
    { attributes: { 'baton.outcome': 'success' }, isError: false },
  ])
})

test('a lock for a scope: its span is from the grant to the release, and it works as one that nobody records', async () => {
  const { tracer, ended } = recordedSpans()
  const { baton } = newClientWorld().client({ node: 'a', tracer })
  const lock = await baton.lock('r')
  expect(lock).toMatchObject({ resource: 'r', node: 'a', fence: 1 })
  expect(await baton.lock('r', ({ fence }) => fence, { owner: lock })).toBe(1)
  expect(ended('baton work lock')).toHaveLength(1)
  await lock.release()
  expect(ended('baton work lock').map(({ attributes }) => attributes['baton.outcome'])).toEqual(['success', 'success'])
})

test('a leadership is a span, and each that follows a loss another one', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const { baton } = world.client({ node: 'a', tracer })
  const terms: (() => void)[] = []
  const leading = baton.lead('r', ({ signal }) => {
    if (terms.length === 1) return 'over'
    return new Promise<string>((resolve) => {
      terms.push(() => resolve('lost'))
      signal.addEventListener('abort', () => resolve('lost'))
    })
  })
  await world.clock.advance(1_500)
  await baton.revoke('lead', 'r')
  expect(await leading).toBe('over')
  expect(ended('baton work lead').map(({ attributes }) => attributes)).toMatchObject([
    { 'baton.fence': 1, 'baton.outcome': 'lost' },
    { 'baton.fence': 2, 'baton.outcome': 'success' },
  ])
})

test('what is asked again is said; where nobody answers the ask is an error, and what runs anyway has fence 0', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const { baton, wire } = world.client({ node: 'a', tracer })
  let lost = 0
  wire.fate = ({ type }) => (type === 'acquire' && lost++ === 0 ? 'lose-request' : 'pass')
  const locking = baton.lock('r', () => 1)
  await world.clock.advance(5_000)
  await locking
  expect(seen(ended('baton ask lock')[0]!)).toMatchObject({ events: ['retried'], isError: false })
  wire.goDown()
  const running = baton.once('r', () => 'anyway', { whenUnavailable: 'run' })
  await world.clock.advance(10_000)
  expect(await running).toMatchObject({ status: 'performed', fence: 0 })
  expect(seen(ended('baton ask once')[0]!)).toMatchObject({
    attributes: { 'baton.status': 'unavailable', 'error.type': 'unavailable' },
    isError: true,
  })
  expect(ended('baton work once')[0]!.attributes).toMatchObject({ 'baton.fence': 0, 'baton.outcome': 'success' })
})

test('to be told that it is busy, and to be given up by its caller, is no error', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  await world.client({ node: 'b' }).baton.lock('r')
  const { baton } = world.client({ node: 'a', tracer })
  const caller = new AbortController()
  const waiting = outcomeOf(baton.lock('r', { signal: caller.signal }))
  await settled()
  caller.abort()
  expect(await waiting).toBe(caller.signal.reason)
  expect(await baton.tryAcquire('lock', 'r')).toBeNull()
  expect(ended().map((span) => [span.attributes['baton.status'], span.status.code])).toEqual([
    ['aborted', 0],
    ['busy', 0],
  ])
})

test('a server is told who asks, and of the work what others can be led to: nothing of a span that nobody records', async () => {
  const { tracer, ended } = recordedSpans()
  const world = newClientWorld()
  const recorded = world.client({ node: 'a', tracer })
  await recorded.baton.once('r', () => 1)
  const [ask, done] = ended().map((span) => `00-${span.spanContext().traceId}-${idOf(span)}-01`)
  expect(recorded.wire.of('acquire')).toMatchObject([{ traceparent: ask }])
  expect(recorded.wire.of('release')).toMatchObject([{ traceparent: done }])

  const unrecorded = recordedSpans({ sampler: new AlwaysOffSampler() })
  const sampledOut = world.client({ node: 'b', tracer: unrecorded.tracer })
  await sampledOut.baton.once('s', () => 1)
  expect(sampledOut.wire.of('acquire')).toMatchObject([{ traceparent: expect.stringMatching(/-00$/) }])
  expect(sampledOut.wire.of('release')[0]).not.toHaveProperty('traceparent')
})

test('without a tracer nothing is made, and nothing is named', async () => {
  const { ended, register } = recordedSpans()
  register()
  const { baton, wire } = newClientWorld().client({ node: 'a', tracer: false })
  let active: unknown
  await baton.once('r', () => {
    active = trace.getActiveSpan()
  })
  await (await baton.lock('r')).release()
  expect([ended(), active]).toEqual([[], undefined])
  expect(wire.sent.filter((request) => request.traceparent !== undefined)).toEqual([])
})

test('an attempt that throws what is no error has a message all the same', async () => {
  const { tracer, ended } = recordedSpans()
  const { baton } = newClientWorld().client({ node: 'a', tracer })
  await baton.once('r', () => Promise.reject('plain text')).catch(() => {})
  expect(ended('baton work once')[0]).toMatchObject({
    status: { code: 2, message: 'plain text' },
    attributes: { 'error.type': '_OTHER' },
  })
})
