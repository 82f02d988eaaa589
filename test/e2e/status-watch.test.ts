// needs: tmux
import { readFileSync } from 'node:fs'
import { type Baton, connect } from '@baton-lock/client'
import { run } from '@baton-lock/test-support/processes'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { killRest, MAIN, startServer, type TestServer, until } from './cli-process.ts'

/* In a terminal: tmux is one, and can be asked what is on it. */

/** A server of tmux of each test's own: one that ends may still be there for a moment. */
let terminals = 0
const socket = () => `baton-watch-${process.pid}-${terminals}`

let server: TestServer
const clients: Baton[] = []

beforeAll(async () => {
  server = await startServer()
})
afterEach(async () => {
  await tmux('kill-server').catch(() => {})
  for (const client of clients.splice(0)) await client.close()
})
afterAll(async () => {
  await server.stop()
  killRest()
})

async function tmux(...args: string[]): Promise<string> {
  return String(await run('tmux', ['-L', socket(), ...args], { timeoutMs: 10_000 }))
}

const screen = () => tmux('capture-pane', '-p')
const keys = (...named: string[]) => tmux('send-keys', ...named)
const type = (text: string) => tmux('send-keys', '-l', text)
const shows = (what: string | RegExp) =>
  until(`the screen shows ${what}`, async () => {
    const text = await screen()
    return (typeof what === 'string' ? text.includes(what) : what.test(text)) && text
  }).catch(async (error) => {
    throw new Error(`${error.message}; it shows\n${await screen()}`)
  })

/** A shell in a terminal of 80 by 24. */
async function openTerminal(env: Readonly<Record<string, string>> = {}): Promise<void> {
  terminals++
  const settings = Object.entries({ BATON_SERVER: server.url, ENV: '', ...env })
  const flags = settings.flatMap(([name, value]) => ['-e', `${name}=${value}`])
  await tmux('-f', '/dev/null', 'new-session', '-d', '-x', '80', '-y', '24', ...flags, 'sh')
  await shows(/^[#$]/)
}

async function watch(...args: string[]): Promise<void> {
  await type(`clear; echo before; ${process.execPath} ${MAIN} status --watch ${args.join(' ')}; echo "exit $?"`)
  await keys('Enter')
}

const clientOf = (node: string) => clientAt(server.url, node)

async function clientAt(url: string, node: string): Promise<Baton> {
  const client = await connect(url, { node, onNotice: () => {} })
  clients.push(client)
  return client
}

/** The shell has its screen, its cursor and its way of reading lines again. */
async function expectRestored(code: number): Promise<void> {
  const text = await shows(`exit ${code}`)
  expect(text).toMatch(/^before\n/)
  expect(text).not.toContain('RESOURCE')
  const state = await tmux('display-message', '-p', '#{alternate_on} #{cursor_flag} #{wrap_flag}')
  expect(state.trim()).toBe('0 1 1')
  await type('stty -a | tr " " "\\n" | grep -x -e icanon -e echo | sort | tr "\\n" " "')
  await keys('Enter')
  await shows('echo icanon')
}

describe('baton status --watch on a terminal', () => {
  test('shows a hand-over as it happens, fits another size of the terminal, and gives the terminal back', async () => {
    await openTerminal()
    const [a, b] = [await clientOf('node-a'), await clientOf('node-b')]
    const first = await a.acquire('lock', 'deploy')
    const second = b.acquire('lock', 'deploy')
    const quiet = await a.acquire('lock', 'other')
    await until('it waits', async () => (await a.status('deploy')).waiting === 1)
    await watch()
    const before = await shows(/\n {2}deploy +lock +node-a +\S+ +1 +\S+\n {2}other +lock +node-a/)
    expect(before).toContain(`${server.url}  2 held  1 waiting  0 stuck\n`)
    await first.succeed()
    const grant = await second
    // Nobody waits any more, so what was held before it comes first.
    await shows(/\n {2}other +lock +node-a.*\n {2}deploy +lock +node-b/)
    await tmux('resize-window', '-x', '50', '-y', '4')
    const small = await shows(/HOLDER +WAITING\n… and 2 more/)
    expect(small.trimEnd().split('\n')).toHaveLength(4)
    await tmux('resize-window', '-x', '80', '-y', '24')
    await shows(/LONGEST\n {2}other/)
    await keys('C-c')
    await expectRestored(130)
    for (const held of [quiet, grant]) await held.succeed()
  }, 60_000)

  test('shows one resource with its queue and why they wait', async () => {
    await openTerminal()
    const [a, b] = [await clientOf('node-a'), await clientOf('node-b')]
    await watch('one')
    await shows('one\n  idle in the namespace default')
    const grant = await a.acquire('lock', 'one')
    const next = b.acquire('lock', 'one')
    const text = await shows(/waits +lock +node-b .* 1st\n {2}why +lock: held by node-a for/)
    expect(text).toMatch(/\none\n {2}holds +lock +node-a/)
    await keys('C-c')
    await expectRestored(130)
    await grant.succeed()
    await (await next).succeed()
  }, 60_000)

  test('is left by a signal, by Ctrl-C and by Ctrl-Z with the terminal as it was', async () => {
    await openTerminal({ NO_COLOR: '1' })
    await watch()
    await shows('nobody holds or waits for anything')
    expect(await tmux('capture-pane', '-p', '-e')).not.toContain('\u001b[3')
    const shell = (await tmux('display-message', '-p', '#{pane_pid}')).trim()
    process.kill(Number(readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8')), 'SIGTERM')
    await expectRestored(143)
    await type('set -m; ')
    await watch()
    await shows('nobody holds or waits for anything')
    await keys('C-z')
    await shows(/Stopped/)
    expect((await tmux('display-message', '-p', '#{alternate_on}')).trim()).toBe('0')
    await type('fg')
    await keys('Enter')
    await shows('nobody holds or waits for anything')
    await keys('C-c')
    await shows(/fg\n/)
    expect((await tmux('display-message', '-p', '#{alternate_on}')).trim()).toBe('0')
  }, 60_000)

  test('says so when its server goes away, and goes on when that is back', async () => {
    await openTerminal()
    const own = await startServer()
    const { port } = new URL(own.url)
    await watch('--server', own.url)
    await shows('nobody holds or waits for anything')
    own.process.kill('SIGKILL')
    await own.process.ended
    await shows(/no answer for \d.*: .*ECONNREFUSED/)
    const again = await startServer(['--port', port])
    await (await clientAt(again.url, 'node-a')).acquire('lock', 'anew')
    expect(await shows(/anew +lock +node-a/)).not.toContain('no answer')
    await keys('C-c')
    await expectRestored(130)
    await clients.pop()!.close()
    again.process.kill('SIGKILL')
  }, 60_000)

  test('ends with 69 if no server answers at the beginning', async () => {
    await openTerminal()
    await watch('--server', 'http://127.0.0.1:9')
    await shows('127.0.0.1:9')
    await shows('exit 69')
  }, 60_000)
})
