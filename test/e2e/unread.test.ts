import { connect, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { killRest, startServer } from './cli-process.ts'

const sockets: Socket[] = []

afterAll(() => {
  for (const socket of sockets) socket.destroy()
  killRest()
})

test('40 connections that ask for a gigabyte and read nothing of it leave a server of 256 MB alive, and quick', async () => {
  const server = await startServer([], { NODE_OPTIONS: '--max-old-space-size=256' })
  const { hostname, port } = new URL(server.url)
  const ask = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'
  for (let count = 0; count < 40; count++) {
    const socket = connect({ host: hostname, port: Number(port) })
    sockets.push(socket)
    socket.on('error', () => {})
    socket.pause()
    const sent = new Promise((resolve) => socket.once('close', resolve).write(ask.repeat(1_700), resolve))
    await sent
  }
  for (let count = 0; count < 100; count++) expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  expect((await server.stop()).code).toBe(0)
})
