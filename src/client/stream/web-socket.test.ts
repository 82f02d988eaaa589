import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { errorBody } from '../../protocol/index.ts'
import { newWorld } from '../../testing/unit/server-world.ts'
import { webSocketDial } from './web-socket.ts'
import type { WireEnd } from './wire.ts'

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
  ['a server of before the stream', 404, JSON.stringify(errorBody('not-found'))],
  ['a server without room for one more stream', 429, JSON.stringify(errorBody('too-many-streams'))],
  ['a page of somebody in between', 403, '<html>'],
  ['an answer that only looks like a refusal', 403, '{"status":"refused","code":"toString"}'],
])('%s has no stream, which says nothing of other ways', async (_, status, body) => {
  const end = await endOf(status, body)
  expect(end).toMatchObject({ isForbidden: true })
  expect(end.refusal).toBeUndefined()
})

test('a server that cannot answer now is as good as none', async () => {
  const end = await endOf(503, JSON.stringify(errorBody('store-unavailable')))
  expect([end.isForbidden, end.refusal]).toEqual([undefined, undefined])
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
