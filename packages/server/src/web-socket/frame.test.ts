import { FRAME_LIMITS } from '@baton-lock/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BadFrame, frameFrom } from './frame.ts'

const request = { type: 'get-policy' }
const text = (frame: unknown) => JSON.stringify(frame)

/** A frame, or nothing where it is none. Whatever else is thrown, is thrown. */
function read(input: string, lastNumber = 0): ReturnType<typeof frameFrom> | undefined {
  try {
    return frameFrom(input, lastNumber)
  } catch (error) {
    if (error instanceof BadFrame) return undefined
    throw error
  }
}

/** As it must be, whatever came in. */
function checkFrame(frame: ReturnType<typeof frameFrom> | undefined, lastNumber: number): void {
  if (!frame) return
  const { from = 0, requests, acked = 0, keep = [], listen = [], unlisten = [] } = frame
  if (requests) {
    expect(from).toBeGreaterThan(lastNumber)
    expect(requests.length).toBeGreaterThan(0)
    expect(requests.length).toBeLessThanOrEqual(FRAME_LIMITS.requests)
  }
  expect(acked).toBeLessThanOrEqual(lastNumber)
  for (const number of [from, acked, ...keep, ...unlisten, ...listen.map(({ id }) => id)])
    if (requests || number !== from) expect(Number.isSafeInteger(number) && number >= 0).toBe(true)
  for (const value of Object.values(frame.defaults ?? {})) expect(typeof value).toBe('string')
  for (const { scope } of listen) expect(['session', 'resource', 'all']).toContain(scope.of)
}

test('any text is a frame or is none', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), fc.nat(), (input, last) => checkFrame(read(input, last), last)),
  )
})

test('any JSON in the fields of a frame makes one or makes none', () => {
  const numbers = fc.array(fc.nat(20))
  const likely = {
    from: fc.nat(40),
    requests: fc.array(fc.constant(request), { maxLength: 3 }),
    acked: fc.nat(20),
    keep: numbers,
    listen: fc.array(fc.record({ id: fc.nat(), scope: scopes() }), { maxLength: 2 }),
    unlisten: numbers,
    defaults: fc.record({ namespace: fc.string(), node: fc.string(), session: fc.string() }, { requiredKeys: [] }),
  }
  const some = (arbitrary: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 8, arbitrary }, { weight: 1, arbitrary: fc.jsonValue() })
  const fields = Object.fromEntries(Object.entries(likely).map(([name, arbitrary]) => [name, some(arbitrary)]))
  const frames = fc.record(fields, { requiredKeys: [] })
  let made = 0
  fc.assert(
    fc.property(frames, fc.nat(20), (frame, last) => {
      const result = read(text(frame), last)
      if (result) made++
      checkFrame(result, last)
    }),
    { numRuns: 2_000 },
  )
  expect(made).toBeGreaterThan(20)
})

function scopes() {
  return fc.oneof(
    fc.record({ of: fc.constant('session'), session: fc.string() }),
    fc.record({ of: fc.constant('resource'), namespace: fc.string(), resource: fc.string() }),
    fc.record({ of: fc.constantFrom('all', 'ask', 'none') }),
    fc.jsonValue(),
  )
}

test('what a client sends is a frame', () => {
  const scope = { of: 'session', session: 's' }
  const frame = { from: 8, requests: [request], acked: 7, keep: [8], listen: [{ id: 1, scope }], unlisten: [0] }
  expect(read(text(frame), 7)).toEqual(frame)
  expect(read('{}')).toEqual({})
})

test.each([
  ['requests without a number', { requests: [request] }],
  ['a number that was used', { from: 7, requests: [request] }],
  ['a number that is none', { from: 8.5, requests: [request] }],
  ['a number beyond those that are exact', { from: 2 ** 53, requests: [request] }],
  ['no requests', { from: 8, requests: [] }],
  ['too many requests', { from: 8, requests: Array(FRAME_LIMITS.requests + 1).fill(request) }],
  ['an acknowledgement of what is to come', { acked: 8 }],
  ['a number to be kept that is none', { keep: ['8'] }],
  ['a scope that there is not', { listen: [{ id: 1, scope: { of: 'ask', session: 's' } }] }],
  ['a scope with more than there is', { listen: [{ id: 1, scope: { of: 'all', session: 's' } }] }],
  ['too many listens', { listen: Array(FRAME_LIMITS.requests + 1).fill({ id: 1, scope: { of: 'all' } }) }],
  ['a field that there is not', { reqests: [request] }],
  ['a list', [request]],
  ['nothing', null],
])('%s is no frame', (_, frame) => {
  expect(() => frameFrom(text(frame), 7)).toThrow(BadFrame)
})

test('a key like __proto__ is no frame, however it is spelled', () => {
  for (const key of ['__proto__', '\\u005f_proto__', '__pr\\u006fto__']) {
    const input = `{"from":1,"requests":[{"type":"get-policy","${key}":{"status":"granted"}}]}`
    const frame = read(input)
    // What is left of it is an own field like any other, for the check of the request to refuse.
    if (frame) expect(Object.keys(frame.requests![0] as object)).toContain('__proto__')
  }
  expect(read('{"__proto__":{"acked":1}}')).toBeUndefined()
})
