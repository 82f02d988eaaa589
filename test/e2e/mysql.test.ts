// needs: mariadb
import { readFileSync, writeFileSync } from 'node:fs'
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { tenNodes } from '@baton-lock/test-support/go-client'
import { serverAt } from '@baton-lock/test-support/server-world'
import { open } from 'baton-lock'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { baton, killRest, logIn, openFolder, start, startServer, until } from './cli-process.ts'
import { LibraryProcess } from './library.ts'

/*
 * The built product on a MariaDB of the test's own: processes of their own, with no server between them, and servers side
 * by side.
 */
let mariadb: Mariadb
let url: string
let databases = 0
const folder = openFolder()

beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(async () => {
  killRest()
  folder.remove()
  await mariadb.stop()
})
beforeEach(async () => {
  url = await mariadb.createDatabase(`e_${++databases}`)
  // The tables are there before many come at once: that they are made once is another test.
  expect((await baton(['store', 'create', url])).code).toBe(0)
})

async function questions(): Promise<number> {
  const [row] = await mariadb.query<{ Value: string }>("SHOW GLOBAL STATUS LIKE 'Questions'")
  return Number(row!.Value)
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('ten processes count in a file under a lock, and the count is right to the last one', async () => {
  const counter = folder.path('counter')
  writeFileSync(counter, '0')
  const count = `v=$(cat ${counter}); sleep 0.02; echo $((v + 1)) > ${counter}`
  const each = async (index: number) => {
    for (let round = 0; round < 3; round++) {
      const end = await baton([
        'run',
        'lock',
        'counter',
        '--node',
        `n${index}`,
        '--store',
        url,
        '--',
        'sh',
        '-c',
        count,
      ])
      expect([end.code, end.stderr.replaceAll(/^baton: waiting.*\n/gm, '')]).toEqual([0, ''])
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, index) => each(index)))
  expect(readFileSync(counter, 'utf8').trim()).toBe('30')
}, 120_000)

test('twenty waiters in different processes are granted strictly in their order', async () => {
  const processes = await Promise.all(
    Array.from({ length: 21 }, (_, index) => LibraryProcess.start(url, `n${index}`, 60_000)),
  )
  const asks = []
  for (const [index, process] of processes.entries()) {
    const ask = process.acquire('r')
    asks.push(ask)
    if (index === 0) await ask.ended
    else expect((await ask.queued()).queued).toBe(index)
  }
  const order: number[] = []
  for (const [index, ask] of asks.entries()) void ask.ended.then(() => order.push(index))
  for (const ask of asks) {
    await ask.ended
    await ask.release()
  }
  expect(order).toEqual(asks.map((_, index) => index))
  await Promise.all(processes.map((process) => process.kill()))
}, 120_000)

test('a holder that is killed is followed within its ttl and a second', async () => {
  const ttlMs = 3_000
  const holder = await LibraryProcess.start(url, 'holder', ttlMs)
  const waiter = await LibraryProcess.start(url, 'waiter', 30_000)
  // It has looked for deadlines once by then, and the holder's is not among them yet.
  await sleep(500)
  await holder.acquire('r').ended
  const ask = waiter.acquire('r')
  await ask.queued()
  await holder.kill()
  const killedMs = Number(process.hrtime.bigint()) / 1e6
  const { atMs } = await ask.ended
  expect(atMs - killedMs).toBeLessThan(ttlMs + 1_000)
  await waiter.close()
}, 60_000)

test('whoever waits is told within seconds, though the one that did the work leaves at once', async () => {
  const waiting = await Promise.all(Array.from({ length: 6 }, (_, index) => open(url, { node: `n${index}` })))
  const doer = await open(url, { node: 'doer' })
  const grant = await doer.acquire('once', 'r')
  let queued = 0
  const onQueued = () => void queued++
  const asks = waiting.map((each) => each.once('r', () => 'again', { onQueued }))
  await until('all stand in line', () => queued === 6)
  await grant.succeed()
  await doer.close()
  const leftMs = Date.now()
  for (const ask of asks) expect((await ask).status).toBe('skipped')
  // A bell that was not rung is heard after half a minute.
  expect(Date.now() - leftMs).toBeLessThan(10_000)
  await Promise.all(waiting.map((each) => each.close()))
}, 60_000)

test('five idle waiters cost fewer than two statements a second in all, and no old view of the database', async () => {
  const holder = await LibraryProcess.start(url, 'holder')
  await holder.acquire('r').ended
  const waiters = await Promise.all(Array.from({ length: 5 }, (_, index) => LibraryProcess.start(url, `n${index}`)))
  for (const waiter of waiters) await waiter.acquire('r').queued()
  await sleep(1_000)
  const before = await questions()
  // Whole rounds of what is done in turn: renewals every 10 s, listening anew every 30 s.
  await sleep(30_000)
  // One is the question itself.
  const perSecond = ((await questions()) - before - 1) / 30
  console.log(`${perSecond.toFixed(2)} statements a second`)
  expect(perSecond).toBeLessThan(2)
  const [status] = await mariadb.query<{ Status: string }>('SHOW ENGINE INNODB STATUS')
  expect(status!.Status).toContain('0 read views open inside InnoDB')
  const locked = await mariadb.query('SELECT * FROM information_schema.INNODB_TRX WHERE trx_rows_locked > 0')
  expect(locked).toEqual([])
  await Promise.all([holder, ...waiters].map((process) => process.kill()))
}, 90_000)

test('five hundred waiters in one process use twelve connections at most', async () => {
  const holder = await LibraryProcess.start(url, 'holder')
  const held = holder.acquire('r')
  await held.ended
  const crowd = await LibraryProcess.start(url, 'crowd')
  const asks = Array.from({ length: 500 }, () => crowd.acquire('r'))
  await Promise.all(asks.map((ask) => ask.queued()))
  const user = new URL(url).username
  const count = async () => {
    const statement = 'SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE USER = ?'
    return (await mariadb.query<{ count: number }>(statement, [user]))[0]!.count
  }
  let most = await count()
  await held.release()
  for (const ask of asks.slice(0, 20)) {
    await ask.ended
    await ask.release()
    most = Math.max(most, await count())
  }
  // Ten, and two for the bell, each.
  expect(most).toBeLessThanOrEqual(24)
  await Promise.all([holder.kill(), crowd.kill()])
}, 120_000)

test('servers side by side on one database: a waiter at one is told of the release at another', async () => {
  const store = ['--store', url]
  const servers = [await startServer(store), await startServer(store), await startServer(store)]
  const holder = servers[0]!.start('run', 'pull', 'layer', '--node', 'a', '--', 'sh', '-c', 'sleep 1.5')
  await until('it is held', async () => (await servers[1]!.baton('status', 'layer')).stdout.includes('pull'))
  const waiters = servers
    .slice(1)
    .map((server, index) => server.baton('run', 'pull', 'layer', '--node', `w${index}`, '--', 'false'))
  for (const { code, stderr } of await Promise.all(waiters)) {
    expect(stderr).toMatch(/^skipped: pull layer was done by a/m)
    expect(code).toBe(0)
  }
  expect((await holder.ended).code).toBe(0)
  await Promise.all(servers.map((server) => server.stop()))
}, 60_000)

test('while the database is away a server says so within ten seconds, and all goes on when it returns', async () => {
  const server = await startServer(['--store', url])
  const library = await LibraryProcess.start(url, 'library')
  const add = () => fetch(`${server.url}/v1/references/add`, reference())
  const isRefused = async (withinMs: number) => {
    const startMs = Date.now()
    const answer = await add()
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'store-unavailable'])
    expect(Date.now() - startMs).toBeLessThan(withinMs)
  }
  expect((await add()).status).toBe(200)
  for (const away of ['killed', 'paused'] as const) {
    if (away === 'killed') await mariadb.kill()
    else await mariadb.pause()
    const refused = library.acquire(away, { waitMs: 20_000 }).ended
    await isRefused(10_000)
    expect(await refused).toMatchObject({ error: 'UnavailableError' })
    // By now it is known, and nobody has to wait to be told; a client hears the reason within its own patience.
    const [told] = await Promise.all([server.baton('status', 'r'), isRefused(4_000)])
    expect([told.code, told.stderr]).toEqual([69, expect.stringContaining('store cannot be reached')])
    if (away === 'killed') await mariadb.restart()
    else await mariadb.resume()
    await until('it answers again', async () => (await add()).status === 200)
    const again = library.acquire(`${away} again`)
    expect((await again.ended).granted).toBeGreaterThan(0)
    await again.release()
  }
  await library.close()
  const { stderr } = await server.stop()
  const messages = logIn(stderr)
    .map(({ message }) => message)
    .filter((message) => message.startsWith('the store'))
  // In turn. A database that wakes up may be too late once more for what it was asked before.
  const pairs = messages.length / 2
  expect(pairs).toBeGreaterThanOrEqual(2)
  expect(messages).toEqual(Array(pairs).fill(['the store does not answer', 'the store answers again']).flat())
}, 180_000)

test('a run on a database that is away fails, runs all the same or waits for it, as it was told', async () => {
  const run = (...flags: string[]) => [
    'run',
    'lock',
    'r',
    '--store',
    url,
    ...flags,
    '--',
    'sh',
    '-c',
    'echo $BATON_FENCE',
  ]
  await mariadb.kill()
  const fails = await baton(run())
  expect([fails.code, fails.stderr]).toEqual([69, expect.stringContaining('cannot be reached at 127.0.0.1')])
  expect(await baton(run('--unavailable', 'run'))).toMatchObject({ code: 0, stdout: '0\n' })
  const waits = start(run('--unavailable', 'wait'))
  await until('it says so', () => waits.stderr().includes('cannot be reached'))
  await mariadb.restart()
  expect(await waits.ended).toMatchObject({ code: 0, stdout: '1\n' })
  const wrong = run('--unavailable', 'wait', '--store', url.replace(/\/\/[^@]*@/, '//nobody:wrong@'))
  expect(await baton(wrong)).toMatchObject({ code: 69, stderr: expect.stringContaining('look at user and password') })
}, 120_000)

function reference(): RequestInit {
  const body = JSON.stringify({ resource: 'r', node: 'n' })
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

test('commands find the database in BATON_STORE, unless a server is named', async () => {
  const run = ['run', 'lock', 'r', '--', 'sh', '-c', 'echo fence $BATON_FENCE']
  expect(await baton(run, { BATON_STORE: url })).toMatchObject({ code: 0, stdout: 'fence 1\n' })
  const nobody = { BATON_STORE: url, BATON_SERVER: 'http://127.0.0.1:1' }
  expect((await baton(run, nobody)).code).toBe(69)
  expect(await baton([...run.slice(0, 3), '--store', url, ...run.slice(3)], nobody)).toMatchObject({ code: 0 })
})

test('baton store create --print shows what it would do, and does nothing', async () => {
  const empty = await mariadb.createDatabase(`e_${++databases}`)
  const { code, stdout } = await baton(['store', 'create', empty, '--print'])
  expect(code).toBe(0)
  expect(stdout).toContain('CREATE TABLE IF NOT EXISTS baton_resources')
  expect((await baton(['store', 'check', empty])).stdout).toContain('there are no tables yet')
  expect((await baton(['store', 'check', url])).stdout).toContain('tables of format 1')
  const none = await baton(['store', 'check', url.replace(/:\d+\//, ':1/')])
  expect([none.code, none.stderr]).toEqual([69, expect.stringContaining('cannot be reached')])
})

test('a right that is missing is named, and nothing runs without it', async () => {
  const database = new URL(url).pathname.slice(1)
  const asReader = url.replace(/\/\/[^@]*@/, '//reader:r@')
  await mariadb.query("CREATE USER reader IDENTIFIED BY 'r'")
  for (const right of ['SELECT', 'INSERT', 'UPDATE']) {
    await mariadb.query(`GRANT ${right} ON ${database}.* TO reader`)
    const { code, stderr } = await baton(['store', 'check', asReader])
    const missing = { SELECT: 'INSERT', INSERT: 'UPDATE', UPDATE: 'DELETE' }[right]
    expect([code, stderr]).toEqual([69, expect.stringContaining(`refuses this user: ${missing} command denied`)])
  }
  const denied = { code: 69, stdout: '', stderr: expect.stringContaining('DELETE command denied') }
  expect(await baton(['run', 'lock', 'r', '--store', asReader, '--unavailable', 'run', '--', 'echo', 'ran'])).toEqual(
    denied,
  )
  expect(await baton(['serve', '--port', '0', '--store', asReader])).toEqual(denied)
  await mariadb.query(`GRANT DELETE ON ${database}.* TO reader`)
  expect(await baton(['store', 'check', asReader])).toMatchObject({ code: 0 })
})

test('ten nodes of the known classic client at two servers, the first two fail: the work is done three times', async () => {
  const servers = [await startServer(['--store', url]), await startServer(['--store', url])]
  const types = ['pull', 'update', 'delete', 'image-layer']
  const worlds = servers.map((server) => serverAt(server.url))
  const ends = await Promise.all(
    types.map((type) => tenNodes(worlds, { type, resource: type, named: false, workMs: 1_200 })),
  )
  for (const each of ends) expect(each.sort()).toEqual([...Array(7).fill('done'), 'failed', 'failed', 'worked'])
  for (const server of servers) await server.stop()
}, 60_000)
