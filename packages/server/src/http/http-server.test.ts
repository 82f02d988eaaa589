import { rawSocket } from '@baton-lock/test-support/raw-socket'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const MIB = 1024 * 1024

test.each([
  ['of a known length', (bytes: number) => `Content-Length: ${bytes}`],
  ['in chunks', () => 'Transfer-Encoding: chunked'],
])('a body of 300 MB %s is refused, and its connection closed, in flat memory', async (_, header) => {
  const world = newWorld()
  const socket = await rawSocket(world)
  const before = process.memoryUsage().rss
  let answer = ''
  socket.on('data', (text) => {
    answer += text
  })
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(`POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\n${header(300 * MIB)}\r\n\r\n`)
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB, 0x20), Buffer.from('\r\n')])
  let sent = 0
  while (sent < 300 && !socket.destroyed && socket.writable) {
    if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    sent++
  }
  await closed
  expect(sent).toBeLessThan(100)
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * MIB)
  expect(answer).toMatch(/^HTTP\/1\.1 413 .*"too-large"/s)
})

test('a body that is a little too large is told so', async () => {
  const { post } = newWorld()
  const reply = await post('/v1/acquire', ' '.repeat(65 * 1024))
  expect([reply.status, reply.body.code]).toEqual([413, 'too-large'])
})

test('so is one with a method whose answers have no body', async () => {
  const { send } = newWorld()
  expect(await send({ method: 'HEAD', path: '/healthz', body: ' '.repeat(65 * 1024) })).toMatchObject({ status: 413 })
})

test.each([
  ['says nothing', ''],
  ['stops in its headers', 'POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\n'],
  ['stops in its body', 'POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{'],
])('a connection that %s is closed once its request is overdue', async (_, text) => {
  const world = newWorld({ limits: { requestMs: 300 } })
  const socket = await rawSocket(world)
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(text)
  socket.resume()
  await closed
})

test('a stream stays open for longer than a request may take', async () => {
  const world = newWorld({ limits: { requestMs: 100 } })
  const open = await world.stream('/v1/events')
  // Another connection that is closed as overdue shows that the time has passed.
  const socket = await rawSocket(world)
  await new Promise((resolve) => socket.on('close', resolve).resume())
  await world.post('/v1/acquire', { operation: 'pull', resource: 'x', node: 'a' })
  await open.until(() => open.events().length === 2)
})

test.each([
  ['no HTTP at all', 'hello\r\n\r\n'],
  ['a header without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`],
  ['two lengths', 'POST /lock HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}'],
  [
    'a length and chunks',
    'POST /lock HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0',
  ],
])('%s on a raw socket gets a 4xx and a closed connection', async (_, text) => {
  const world = newWorld({ limits: { requestMs: 500 } })
  const socket = await rawSocket(world)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(text)
  await closed
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d .*\{"status":"refused","code":"bad-request","message":"[^"]+\."\}$/s)
  expect((await world.get('/healthz')).status).toBe(200)
})
