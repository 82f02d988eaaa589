import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorBody } from '@baton-lock/protocol'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import { type WireEnd, webSocketDial } from './web-socket.ts'

/** What becomes of a dial to a server that gives this answer and no WebSocket. */
async function endOf(status: number, body: string): Promise<WireEnd> {
  const server = createServer()
  server.on('upgrade', (_request, socket) =>
    socket.end(
      `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    ),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return new Promise((onEnd) => webSocketDial({})(base, { onText: () => {}, onBeat: () => {}, onEnd }))
}

test('a refusal of the client is the answer', async () => {
  const refusal = errorBody('unauthorised')
  expect(await endOf(401, JSON.stringify(refusal))).toMatchObject({ refusal })
})

test.each([
  ['a proxy that leaves out the upgrade', 404, JSON.stringify(errorBody('not-found'))],
  ['a page of somebody in between', 403, '<html>'],
  ['an answer that only looks like a refusal', 403, '{"status":"refused","code":"toString"}'],
])('%s: the error says what to change', async (_, status, body) => {
  const end = await endOf(status, body)
  expect(end.refusal).toBeUndefined()
  expect(end.error).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(`^it answered ${status} instead of opening a WebSocket .* Upgrade and Connection$`),
  })
})

test.each([
  ['whose store does not answer', 503, 'store-unavailable'],
  ['without room for one more stream', 429, 'too-many-streams'],
] as const)('a server %s is as good as none, and says why', async (_, status, code) => {
  const refusal = errorBody(code)
  const end = await endOf(status, JSON.stringify(refusal))
  expect([end.refusal, (end.error as Error).message]).toEqual([undefined, refusal.message])
})

test('what is sent before the connection stands arrives, in order, and a close is told to nobody', async () => {
  const world = newWorld()
  const texts: string[] = []
  let isOver = false
  let heard = () => {}
  const answered = new Promise<void>((resolve) => {
    heard = resolve
  })
  const wire = webSocketDial({})(new URL(await world.url()), {
    onText: (text) => {
      texts.push(text)
      if (texts.join('').includes('[2,')) heard()
    },
    onBeat: () => {},
    onEnd: () => {
      isOver = true
    },
  })
  for (const from of [1, 2]) wire.send(JSON.stringify({ from, requests: [{ type: 'get-policy' }] }), () => {})
  await answered
  expect(JSON.parse(texts[0]!)).toEqual({ store: world.store.id })
  wire.close()
  await world.app.close()
  expect(isOver).toBe(false)
})

/** What RFC 6455 has a server append to the key of a handshake. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

test('a server that does not answer a close is waited for a second', async () => {
  const server = createServer()
  const isCut = new Promise<void>((resolve) => {
    server.on('upgrade', ({ headers }, socket) => {
      const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${GUID}`).digest('base64')
      const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
      socket.write(`${head}Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
      // A text frame: `{}`.
      socket.write(Buffer.from([0x81, 2, 0x7b, 0x7d]))
      socket.on('error', () => {})
      socket.resume().on('end', () => resolve())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const wire = webSocketDial({})(base, { onText: () => wire.close(), onBeat: () => {}, onEnd: () => {} })
  await isCut
}, 10_000)
