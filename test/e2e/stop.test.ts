import { rawSocket } from '@baton-lock/test-support/raw-socket'
import { expect, onTestFinished, test } from 'vitest'
import { logIn, startServer, troubleIn, until } from './cli-process.ts'
import { fileStores, post, serve } from './file-server.ts'
import { startLoad } from './restart-load.ts'

const { newDirectory } = fileStores()

test('a server on a file store, restarted under load: leases, places in line and fences go on, and nobody is alarmed', async () => {
  const flags = ['--store', `file:${newDirectory()}`, '--log-level', 'debug']
  const first = await startServer(flags)
  const load = await startLoad([first.url])
  await until('work goes on', () => load.turns() > 50)
  const { code, stderr } = await first.stop()
  expect([code, troubleIn(stderr)]).toEqual([0, []])
  expect(logIn(stderr).at(-1)).toMatchObject({ message: 'stopped', cut: 0 })
  const second = await startServer([...flags, '--port', new URL(first.url).port])
  const started = () => logIn(second.process.stderr()).find(({ message }) => message === 'started')
  expect(await until('it says so', started)).toMatchObject({
    storeIsNew: false,
    grants: expect.any(Number),
    sessions: 6,
  })
  const before = load.turns()
  await until('work goes on', () => load.turns() > before + 50)
  expect(await load.finish()).toEqual({ trouble: [], order: [0, 1, 2, 3, 4, 5] })
  expect(troubleIn((await second.stop()).stderr)).toEqual([])
}, 120_000)

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: the log says that it stops and that it has, and the exit code is 0',
  async (signal) => {
    const server = await serve(newDirectory())
    await post(server.url, '/v1/acquire', { operation: 'lock', resource: 'r', node: 'n' })
    server.process.kill(signal)
    const { code, stderr } = await server.process.ended
    expect([code, logIn(stderr).map(({ message }) => message)]).toEqual([0, ['started', 'stopping', 'stopped']])
  },
)

test('a second signal ends it at once', async () => {
  const server = await serve(newDirectory())
  const socket = await rawSocket({ url: async () => server.url })
  onTestFinished(() => void socket.destroy())
  // A request that never comes is waited for, for a while.
  socket.write('POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n')
  await until('it has begun', async () => (await post(server.url, '/v1/acquire', {})).status === 400)
  server.process.kill('SIGTERM')
  await until('it stops', () => logIn(server.process.stderr()).some(({ message }) => message === 'stopping'))
  server.process.kill('SIGTERM')
  const { code, stderr } = await server.process.ended
  expect([code, logIn(stderr).map(({ message }) => message)]).toEqual([143, ['started', 'stopping']])
})
