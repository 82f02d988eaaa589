import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newWorld, quiet, type World } from '../../test/server/server-world.ts'

test('there is a limit to the number of streams, and one that closes makes room', async () => {
  const { stream, get, app } = newWorld({ limits: { streams: 2 } })
  const one = await stream('/v1/events')
  const two = await stream('/lock/subscribe?type=pull&resource_id=x')
  expect([one.status, two.status, app.streams.size]).toEqual([200, 200, 2])
  expect(await get('/v1/events')).toMatchObject({ status: 429, body: { code: 'too-many-streams' } })
  expect((await get('/lock/subscribe?type=pull&resource_id=x')).status).toBe(429)
  one.close()
  while (app.streams.size === 2) await quiet()
  expect((await stream('/v1/events')).status).toBe(200)
})

test('a reader that does not read is cut, and those who do miss nothing', async () => {
  const world = newWorld({ limits: { streamBytes: 64 * 1024 } })
  const { app, service, stream, post } = world
  await post('/v1/acquire', { operation: 'lock', resource: 'x', node: 'a' })
  const reader = await stream('/v1/events')
  const deaf = await neverReads(world, '/v1/events')
  while (app.streams.size < 2) await quiet()

  const progress = { text: 'x'.repeat(4_000) }
  let sent = 0
  while (app.streams.cut === 0) {
    for (let burst = 0; burst < 10; burst++, sent++) {
      await service.call({
        type: 'progress',
        namespace: 'default',
        operation: 'lock',
        resource: 'x',
        owner: 'a',
        fence: 1,
        progress,
      })
    }
    await reader.until(() => reader.events().length === sent + 1)
    expect(sent).toBeLessThan(20_000)
  }
  expect([app.streams.cut, app.streams.size]).toEqual([1, 1])
  expect(new Set(reader.ids()).size).toBe(sent + 1)
  expect(deaf.bytesRead).toBe(0)
})

test('a burst is no sign of a slow reader', async () => {
  const { app, service, stream, post } = newWorld({ limits: { allStreamsBytes: 1_000 } })
  await post('/v1/acquire', { operation: 'lock', resource: 'x', node: 'a' })
  const reader = await stream('/v1/events')
  const progress = 'x'.repeat(4_000)
  const address = { namespace: 'default', operation: 'lock', resource: 'x', owner: 'a', fence: 1 }
  for (let burst = 0; burst < 50; burst++) await service.call({ type: 'progress', ...address, progress })
  await reader.until(() => reader.events().length === 51)
  expect(app.streams.cut).toBe(0)
})

test('closing the server resets its streams: nobody takes that for the end of what there is to say', async () => {
  const { stream, app } = newWorld()
  const open = [await stream('/v1/events'), await stream('/lock/subscribe?type=pull&resource_id=x&node_id=a')]
  await app.close()
  expect(await Promise.all(open.map(({ ended }) => ended))).toEqual(['reset', 'reset'])
})

/** Opens a stream and leaves everything unread. */
async function neverReads({ url }: World, path: string) {
  const { hostname, port } = new URL(await url())
  const socket = connect({ host: hostname, port: Number(port) })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  return socket
}
