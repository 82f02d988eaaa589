import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf } from '@baton-lock/test-support/client-world'
import { open } from 'baton-lock/open'
import { expect, test } from 'vitest'
import type { WhenUnavailable } from './api.ts'
import { connect } from './connect.ts'

// biome-ignore lint/suspicious/noExplicitAny: what JavaScript lets through.
const wrong = (value: unknown) => value as any

test.each([
  ['connect', () => connect(wrong(undefined)), /connect: the servers must be a URL/],
  ['connect', () => connect('no url'), /'no url' is not the URL of a server/],
  [
    'connect',
    () => connect('http://127.0.0.1:1', wrong({ nodes: 'a' })),
    /connect has no option 'nodes'; it takes node,/,
  ],
  ['connect', () => connect('http://127.0.0.1:1', { ttlMs: 5 }), /ttlMs must be a whole number from 1000/],
  ['connect', () => connect('http://127.0.0.1:1', { node: 'a\nb' }), /node must be 1 to 512 bytes/],
  ['connect', () => connect('http://127.0.0.1:1', wrong({ resultLimit: 5 })), /connect has no option 'resultLimit'/],
  ['open', () => open(wrong(undefined)), /open: the store must be a text/],
  ['open', () => open('mongo:'), /there is no store 'mongo:'/],
  ['open', () => open('memory:', wrong({ token: 7 })), /the option token must be a text/],
])('%s: what cannot be meant is a TypeError with a code', async (_, call, message) => {
  const error = await outcomeOf(call())
  expect(error).toBeInstanceOf(TypeError)
  expect(error).toMatchObject({ code: 'bad-argument', message: expect.stringMatching(message) })
})

test('every call names the option that it does not know, or that is wrong', async () => {
  const { baton, wire } = newClientWorld().client({ node: 'a' })
  const calls: [() => Promise<unknown>, RegExp][] = [
    [() => baton.lock(wrong(undefined)), /lock: resource must be 1 to 512 bytes/],
    [() => baton.lock('l', wrong({ waitMS: 5 })), /lock has no option 'waitMS'; it takes namespace, waitMs/],
    [() => baton.lock('l', wrong(null)), /lock: options must be an object/],
    [() => baton.lock('l', () => 1, { waitMs: Number.NaN }), /waitMs must be a number of milliseconds/],
    [() => baton.once('o', wrong('cmd')), /once: the callback must be a function/],
    [() => baton.once('o', () => 1, wrong({ keepMs: '1h' })), /keepMs must be a whole number/],
    [() => baton.once('o', () => 1, wrong({ reference: false })), /once has no option 'reference'/],
    [
      () => baton.lead('l', () => 1, wrong({ whenUnavailable: 'run' })),
      /whenUnavailable must be one of 'wait', 'fail'/,
    ],
    [() => baton.lead('l', () => 1, wrong({ signal: new AbortController() })), /signal must be an AbortSignal/],
    [() => baton.run('pull', 'p', () => 1, wrong({ verify: true })), /verify must be a function/],
    [() => baton.acquire('pull', 'p', wrong({ owner: {} })), /owner must be an open grant/],
    [() => baton.tryAcquire('pull', 'p', wrong({ waitMs: 5 })), /tryAcquire has no option 'waitMs'/],
    [() => baton.forget('p', wrong({ op: 'pull' })), /forget has no option 'op'/],
    [() => baton.status(wrong(7)), /status: resource must be/],
    [() => baton.waiters('p', wrong({ ns: 'n' })), /waiters has no option 'ns'/],
    [() => baton.revoke('pull', 'p', wrong({ fence: '1' })), /fence must be a whole number/],
    [() => baton.references.add('p', wrong({ nodes: [] })), /references has no option 'nodes'/],
    [
      () =>
        baton
          .list(wrong({ prefix: 7 }))
          [Symbol.asyncIterator]()
          .next(),
      /prefix must be a text/,
    ],
    [
      () =>
        baton
          .events(wrong({ key: 'p' }))
          [Symbol.asyncIterator]()
          .next(),
      /events has no option 'key'/,
    ],
  ]
  for (const [call, message] of calls) {
    const error = await outcomeOf(call())
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ code: 'bad-argument', message: expect.stringMatching(message) })
  }
  expect(wire.sent).toEqual([])
})

test.each<WhenUnavailable>(['wait', 'fail', 'run'])(
  'waitMs bounds the time until the work begins, also where a server takes everything and says nothing (%s)',
  async (whenUnavailable) => {
    const { client, clock } = newClientWorld()
    const { baton, wire } = client({ node: 'a', whenUnavailable })
    wire.fate = () => 'lose-request'
    const running = outcomeOf(baton.run('lock', 'l', ({ fence }) => fence, { waitMs: 500 }))
    const trying = outcomeOf(baton.tryAcquire('lock', 'l'))
    await clock.advance(501)
    await settled()
    if (whenUnavailable === 'run') expect(await running).toMatchObject({ status: 'performed', result: 0 })
    else expect(await running).toMatchObject({ code: 'unavailable' })
    await clock.advance(500)
    if (whenUnavailable === 'run') expect(await trying).toMatchObject({ fence: 0 })
    else expect(await trying).toMatchObject({ code: 'unavailable' })
  },
)

test('a claim that is not acknowledged within the wait limit is taken back', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const held = await a.baton.lock('l')
  const waiting = outcomeOf(b.baton.lock('l', () => expect.unreachable(), { waitMs: 1_000 }))
  await clock.advance(900)
  b.wire.fate = ({ type }) => (type === 'acquire' ? { replyAfterMs: 2_000 } : 'pass')
  await held.release()
  await clock.advance(100)
  expect(await waiting).toMatchObject({ code: 'wait-over' })
  await clock.advance(100)
  expect((await a.baton.status('l')).grants).toEqual([])
})
