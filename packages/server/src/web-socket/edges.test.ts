import { FRAME_LIMITS, LIMITS, type ServerFrame } from '@baton-lock/protocol'
import { newWorld } from '@baton-lock/test-support/server-world'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import WebSocket from 'ws'

const LARGEST = FRAME_LIMITS.bytes + LIMITS.bodyBytes
/** Where something changes: a piece of a frame, a frame, what the SDK sends at once. */
const DAY_MS = 86_400_000
const COUNTS = [1, 16, 100, 200, FRAME_LIMITS.requests]

/** A frame of so many asks of one round, with blanks up to a size; as large as it has to be where that is larger. */
function frameOf(round: number, count: number, bytes: number): string {
  const ask = (index: number) =>
    JSON.stringify({
      type: 'acquire',
      operation: 'lock',
      resource: `${round}-${index}`,
      node: 'n',
      hold: 'h',
      ttlMs: DAY_MS,
    })
  const text = `{"from":1,"requests":[${Array.from({ length: count }, (_, index) => ask(index)).join(',')}]`
  return `${text}${' '.repeat(Math.max(0, bytes - text.length - 1))}}`
}

test('at the edges of its budgets a frame is answered whole and in order, or ends its stream and changes nothing', async () => {
  const world = newWorld()
  const url = `${(await world.url()).replace('http', 'ws')}/v1/stream`
  let round = 0
  let held = 0
  const near = (value: number) => fc.integer({ min: -2, max: 2 }).map((off) => Math.max(1, value + off))
  const counts = fc.constantFrom(...COUNTS).chain(near)
  const sizes = fc.oneof(fc.constant(0), fc.constantFrom(FRAME_LIMITS.bytes, LARGEST).chain(near))
  await fc.assert(
    fc.asyncProperty(counts, sizes, async (count, bytes) => {
      round++
      // Nobody is slowed down for what was a minute ago.
      await world.clock.advance(60_000)
      const text = frameOf(round, count, bytes)
      const webSocket = new WebSocket(url)
      const numbers: number[] = []
      const ended = await new Promise<number | undefined>((resolve) => {
        webSocket.on('error', () => {})
        webSocket.on('open', () => webSocket.send(text))
        webSocket.on('close', resolve)
        webSocket.on('message', (data) => {
          const { replies = [] } = JSON.parse(String(data)) as ServerFrame
          numbers.push(...replies.map(([number]) => number))
          if (numbers.length === count) resolve(undefined)
        })
      })
      webSocket.terminate()
      const isGood = count <= FRAME_LIMITS.requests && text.length <= LARGEST
      expect([ended === undefined, [1_008, 1_009].includes(ended ?? 0)]).toEqual([isGood, !isGood])
      if (isGood) held += count
      expect(numbers).toEqual(isGood ? Array.from({ length: count }, (_, index) => index + 1) : [])
      expect((await world.store.counts()).grants).toBe(held)
    }),
    { numRuns: 60, seed: 1 },
  )
}, 60_000)
