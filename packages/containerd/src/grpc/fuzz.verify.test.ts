import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pause, systemClientClock } from '@baton-lock/client/clock'
import { seededRandom } from '@baton-lock/store/conformance/random'
import {
  body,
  bytes,
  FLAG,
  FRAME,
  frame,
  message,
  opened,
  PREFACE,
  request,
  reset,
  settings,
  window,
} from '@baton-lock/test-support/grpc-frames'
import { chat, echo, grpcClient, grpcServer, quickClock, unary } from '@baton-lock/test-support/grpc-world'
import type { Client } from '@grpc/grpc-js'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

/** Silent answers when it likes, and leaves some calls open. */
const METHODS = { '/t/Echo': echo, '/t/Silent': chat }

/** A client without fault: two calls, a change of settings, a reset. */
const GOOD = [
  frame(FRAME.settings, { payload: bytes('0004 00000100 0001 00000000') }),
  request(1),
  body(1, 'hello'),
  opened(3),
  frame(FRAME.data, { streamId: 3, payload: message(Buffer.alloc(2_000, 'x')) }),
  window(0, '00001000'),
  window(3, '00001000'),
  frame(FRAME.ping, { payload: Buffer.alloc(8) }),
  settings('0004 00010000'),
  frame(FRAME.data, { streamId: 3, payload: message(Buffer.alloc(9_000, 'y')) }),
  request(5, { flags: FLAG.endHeaders | FLAG.endStream }),
  frame(FRAME.rstStream, { streamId: 3, payload: bytes('00000008') }),
  request(7),
  body(7, 'bye'),
]

/** Drawn as a seed and a length: to draw every byte takes longer than all that the server does with them. */
const anyBytes = fc.tuple(fc.nat(), fc.nat(300)).map(([seed, length]) => {
  const random = seededRandom(seed)
  return Buffer.from(Array.from({ length }, () => random.integer(256)))
})

const anyFrame = fc
  .record({
    type: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.nat(255)),
    flags: fc.oneof(fc.constantFrom(0, 1, 4, 5, 8, 13, 0x20, 0x2d), fc.nat(255)),
    streamId: fc.oneof(fc.nat(9), fc.nat(2 ** 31 - 1)),
    payload: fc.oneof(
      anyBytes,
      fc.constantFrom(message(Buffer.from('abc')), bytes('00000001'), bytes('000400000000'), Buffer.alloc(8)),
      fc.constantFrom(...GOOD.map((each) => each.subarray(9))),
    ),
  })
  .map(({ type, ...others }) => frame(type, others))

const randomFrames = fc.array(fc.oneof(anyFrame, fc.constantFrom(...GOOD)), { minLength: 1, maxLength: 30 })

/** The good client, with some bytes changed, and some frames left out, repeated or moved. */
const mutatedFrames = fc
  .tuple(
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
    fc.oneof(fc.constant(GOOD), fc.shuffledSubarray(GOOD), fc.array(fc.constantFrom(...GOOD), { maxLength: 30 })),
  )
  .map(([changes, frames]) => {
    const all = Buffer.concat(frames)
    for (const [at, value] of changes) if (all.length > 0) all[at % all.length] = value
    return [all]
  })

let gc: () => void

beforeAll(() => {
  setFlagsFromString('--expose-gc')
  gc = runInNewContext('gc')
})

/** What a broken client leaves behind is what stays after all is collected. */
async function usedBytes(): Promise<number> {
  // Until dead connections are noticed.
  await pause(systemClientClock(), 2_000)
  for (let each = 0; each < 5; each++) {
    await new Promise((resolve) => setImmediate(resolve))
    gc()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Sends frames in two parts and disconnects. Returns whether another client is served meanwhile. */
async function isServedWhile(client: Client, path: string, frames: readonly Buffer[], cutAt: number): Promise<boolean> {
  const all = Buffer.concat([PREFACE, ...frames])
  const socket = connect(path)
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => {}).resume()
  socket.write(all.subarray(0, cutAt % all.length))
  socket.end(all.subarray(cutAt % all.length))
  const reply = await unary(client, '/t/Echo', Buffer.from('x'))
  socket.destroySoon()
  await closed
  return reply.toString() === 'x'
}

test.each([
  ['random', randomFrames.map((frames) => [settings(''), ...frames])],
  ['mutated', mutatedFrames],
])(
  'clients with %s frames harm nobody else, and leave nothing behind',
  async (_, frames) => {
    const { path } = await grpcServer(METHODS, quickClock())
    const client = grpcClient(path)
    const spoken = fc.asyncProperty(frames, fc.nat(), async (each, cutAt) => {
      expect(await isServedWhile(client, path, each, cutAt)).toBe(true)
    })
    await fc.assert(spoken, { numRuns: 300 })
    const before = await usedBytes()
    await fc.assert(spoken, { numRuns: 600 })
    expect((await usedBytes()) - before).toBeLessThan(4 * 1024 * 1024)
  },
  120_000,
)

test('streams that are opened and reset leave nothing behind', async () => {
  const { path } = await grpcServer(METHODS, quickClock())
  const client = grpcClient(path)
  const resets = async (connections: number) => {
    for (let each = 0; each < connections; each++) {
      const ids = Array.from({ length: 2_000 }, (_, index) => 2 * index + 1)
      const frames = ids.flatMap((id) => [opened(id), body(id, 'abc', 0), reset(id)])
      expect(await isServedWhile(client, path, [settings(''), ...frames], 0)).toBe(true)
    }
  }
  await resets(2)
  const before = await usedBytes()
  await resets(10)
  expect((await usedBytes()) - before).toBeLessThan(1024 * 1024)
})
