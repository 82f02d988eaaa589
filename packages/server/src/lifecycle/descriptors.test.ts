import { connect, createServer, type Socket } from 'node:net'
import { logTo } from '@baton-lock/service'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { expect, onTestFinished, test } from 'vitest'
import { keepDescriptors } from './descriptors.ts'

test('connections leave the last descriptors to others, and the log says so once a minute', async () => {
  const clock = new SimulatedClock()
  const said: unknown[] = []
  const server = createServer()
  keepDescriptors(server, { log: logTo((_, __, fields) => said.push(fields)), timers: clock, left: () => 27 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const newConnection = () => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    return new Promise<void>((resolve) => {
      socket
        .on('close', () => resolve())
        .on('error', () => {})
        .resume()
      server.once('connection', () => resolve())
    })
  }
  for (let count = 0; count < 3; count++) await newConnection()
  expect(said).toEqual([])
  for (let count = 0; count < 4; count++) await newConnection()
  expect(said).toEqual([{ refused: 1, connections: 3 }])
  await clock.advance(60_000)
  expect(said).toEqual([
    { refused: 1, connections: 3 },
    { refused: 3, connections: 3 },
  ])
  await clock.advance(120_000)
  expect(said).toHaveLength(2)
  await newConnection()
  expect(said).toHaveLength(3)
  sockets[0]!.destroy()
  await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(2)
  await newConnection()
  expect(said).toHaveLength(3)
})
