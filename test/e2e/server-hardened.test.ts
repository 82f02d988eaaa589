import { readdirSync, unlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { urlOf } from '@baton-lock/test-support/baton-server'
import { expect, onTestFinished, test } from 'vitest'
import { baton, MAIN, start, startProgram, troubleIn, until } from './cli-process.ts'
import { fileStores, post, serve } from './file-server.ts'

const { newDirectory } = fileStores()

const flags = (directory: string, port: string) => ['serve', '--port', port, '--store', `file:${directory}`]

/** The product under a limit of open files. */
function underLimit(files: number, args: readonly string[]) {
  return startProgram('sh', ['-c', `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, MAIN, ...args])
}

test('a server goes on when the readers of its stdout and of its log have gone', async () => {
  const directory = newDirectory()
  const first = await serve(directory)
  const { port } = new URL(first.url)
  await post(first.url, '/v1/acquire', { operation: 'lock', resource: 'r', node: 'n' })
  await first.kill()
  // After a kill the next start has something to say on both.
  const second = start(flags(directory, port))
  second.closeOutput()
  const asked = () =>
    fetch(`${first.url}/healthz`).then(
      (reply) => reply.status === 200,
      () => !second.isRunning,
    )
  await until('it answers, or has ended', asked)
  const reply = await post(first.url, '/v1/acquire', { operation: 'update', resource: 'r', node: 'n' })
  expect(reply.body.status).toBe('granted')
  expect(second.isRunning).toBe(true)
  second.kill('SIGTERM')
  expect(await second.exited).toBe(0)
}, 60_000)

test.runIf(process.platform === 'linux')(
  'a second server is refused though the lock of the first was removed',
  async () => {
    const directory = newDirectory()
    const first = await serve(directory)
    for (const name of readdirSync(directory)) if (name.startsWith('lock-')) unlinkSync(join(directory, name))
    const second = await baton(flags(directory, '0'))
    expect(second).toMatchObject({
      code: 69,
      stderr: `baton: ${directory} is in use by process ${first.process.pid}; end that one, or choose another directory\n`,
    })
    await first.kill()
    const third = await serve(directory)
    await third.kill()
  },
  60_000,
)

test('64 open files are enough to start', async () => {
  const server = underLimit(64, flags(newDirectory(), '0'))
  await urlOf(server)
})

/** What Node itself opens until the command line runs, and one or two more. */
const HARDLY_ANY = 22

test('too few open files at the start are a sentence', async () => {
  const { code, stdout, stderr } = await underLimit(HARDLY_ANY, flags(newDirectory(), '0')).ended
  expect(stderr).toMatch(
    /^baton: this process may not open as many files as it needs; allow it more, e\.g\. `ulimit -n 1024`.*\n$/,
  )
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' })
})

test.runIf(process.platform === 'linux')(
  'more connections than files: the log says it once, and the server goes on',
  async () => {
    const server = underLimit(160, flags(newDirectory(), '0'))
    const url = await urlOf(server)
    const sockets: Socket[] = []
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    let closed = 0
    for (let count = 0; count < 300; count++) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      sockets.push(
        socket
          .on('error', () => {})
          .on('close', () => closed++)
          .resume(),
      )
    }
    await until('some are refused', () => closed > 150)
    await until('the log says so', () => troubleIn(server.stderr()).length > 0)
    expect(troubleIn(server.stderr())).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/^connections are refused: .*ulimit -n/), refused: 1 }),
    ])
    for (const socket of sockets) socket.destroy()
    const ask = () => post(url, '/v1/acquire', { operation: 'lock', resource: 'r', node: 'n' })
    await until('it answers', () =>
      ask().then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    expect(troubleIn(server.stderr())).toHaveLength(1)
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  },
  60_000,
)
