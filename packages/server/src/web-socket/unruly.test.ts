import { createHash } from 'node:crypto'
import type { Token } from '@baton-lock/protocol'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'

const tokens = ['a', 'b'].map(
  (node): Token => ({ sha256: createHash('sha256').update(`of-${node}`).digest('hex'), role: 'node', nodes: [node] }),
)

async function open(world: World, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  const webSocket = new WebSocket(`${(await world.url()).replace('http', 'ws')}/v1/stream`, { headers })
  onTestFinished(() => webSocket.terminate())
  webSocket.on('error', () => {})
  const closed = new Promise<number>((resolve) => webSocket.on('close', resolve))
  await new Promise((resolve) => webSocket.on('open', resolve))
  return { webSocket, closed }
}

test('who breaks the rules again and again waits for the next stream, and others do not', async () => {
  const world = newWorld({ tokens })
  for (let count = 0; count < 6; count++) {
    const { webSocket, closed } = await open(world, 'of-a')
    webSocket.send('no frame')
    expect(await closed).toBe(1008)
  }
  let isOpen = false
  const slowed = open(world, 'of-a').then(() => {
    isOpen = true
  })
  await open(world, 'of-b')
  expect(isOpen).toBe(false)
  await world.clock.advance(1_000)
  await slowed
})

test('more pings than anybody needs end a stream', async () => {
  const world = newWorld({ tokens })
  const { webSocket, closed } = await open(world, 'of-a')
  for (let count = 0; count < 1_001; count++) webSocket.ping()
  expect(await closed).toBe(1008)
})

test('a message that is larger than any frame ends a stream, and nothing more of it is read', async () => {
  const world = newWorld({ tokens })
  const { webSocket, closed } = await open(world, 'of-a')
  for (let count = 0; count < 40; count++) webSocket.send('x'.repeat(64 * 1024), { fin: false })
  expect(await closed).toBe(1009)
})

test('no more than so many listen to everything, on streams of both kinds', async () => {
  const world = newWorld({ limits: { watchers: 3 } })
  const { webSocket } = await open(world, '')
  const frames: { ended?: [number, { code: string }][]; events?: unknown[] }[] = []
  const said = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      webSocket.on('message', () => isSo() && resolve())
    })
  webSocket.on('message', (data) => frames.push(JSON.parse(String(data))))
  const listen = (...ids: number[]) =>
    webSocket.send(JSON.stringify({ listen: ids.map((id) => ({ id, scope: { of: 'all' } })) }))
  const ended = () => frames.flatMap((frame) => frame.ended ?? [])
  listen(1, 2, 3, 4)
  await said(() => ended().length === 1)
  expect(ended()).toMatchObject([[4, { code: 'too-many-streams' }]])
  expect((await fetch(`${await world.url()}/v1/events`)).status).toBe(429)
  webSocket.send(JSON.stringify({ unlisten: [1] }))
  listen(5, 6)
  await said(() => ended().length === 2)
  expect(ended()[1]).toMatchObject([6, { code: 'too-many-streams' }])
})
