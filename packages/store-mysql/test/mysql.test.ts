// needs: mariadb
import { type Acquire, defaultNamespacePolicy, defaultPolicy } from '@baton-lock/core'
import { Link } from '@baton-lock/faults/harness/link'
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { SimulatedClock } from '@baton-lock/store/conformance/simulated-clock'
import { type Store, UnknownFormat, UnknownOutcome } from '@baton-lock/store/store'
import { createConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  checkMysqlStore,
  createTablesAt,
  openMysqlBackend,
  openMysqlStore,
  raiseFences,
  tablesText,
} from '../src/index.ts'

let mariadb: Mariadb
let url: string
let database: string
let databases = 0
const stores: Store[] = []
const clock = new SimulatedClock()

beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())
beforeEach(async () => {
  database = `m_${++databases}`
  url = await mariadb.createDatabase(database)
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

const at = { namespace: 'default', resource: 'r' }
const ask = (owner: string, more: Partial<Acquire> = {}): Acquire => ({
  type: 'acquire',
  operation: 'lock',
  node: 'n',
  owner,
  hold: '1',
  ttlMs: 30_000,
  ...more,
})
const fenceOf = (reply: { status: string }) => (reply as unknown as { fence: number }).fence

/** Two of them on one database are two processes to one another: neither knows of the other but through it. */
async function open(options: Partial<Parameters<typeof openMysqlStore>[0]> = {}): Promise<Store> {
  const store = await openMysqlStore({ url, clock, ...options })
  stores.push(store)
  return store
}

test('V1: of many askers in two processes one is granted, and only the owner releases', async () => {
  const [a, b] = [await open(), await open()]
  const asks = Array.from({ length: 40 }, (_, index) => (index % 2 ? a : b).step(at, ask(`o${index}`, { waitMs: 0 })))
  const replies = await Promise.all(asks)
  expect(replies.filter(({ status }) => status === 'granted')).toHaveLength(1)
  const owner = `o${replies.findIndex(({ status }) => status === 'granted')}`
  const fence = fenceOf(replies.find(({ status }) => status === 'granted')!)
  const release = { type: 'release', operation: 'lock', hold: '1', outcome: 'success', fence } as const
  expect(await b.step(at, { ...release, owner: 'somebody' })).toEqual({ status: 'refused', code: 'not-holder' })
  expect((await a.read(at))?.grants).toHaveLength(1)
  expect((await b.step(at, { ...release, owner })).status).toBe('released')
})

test('V2: a dead owner is followed after its ttl, and those who ask meanwhile do not renew its lease', async () => {
  const [a, b] = [await open(), await open()]
  const first = fenceOf(await a.step(at, ask('dead', { ttlMs: 2_000 })))
  for (let count = 0; count < 19; count++) {
    clock.jump(100)
    expect((await b.step(at, ask('next', { waitMs: 0 }))).status).toBe('refused')
  }
  clock.jump(100)
  const second = await b.step(at, ask('next', { waitMs: 0 }))
  expect(second.status).toBe('granted')
  expect(fenceOf(second)).toBeGreaterThan(first)
  const late = { type: 'release', operation: 'lock', owner: 'dead', hold: '1', outcome: 'success' } as const
  expect((await a.step(at, { ...late, fence: first })).status).toBe('refused')
})

test('V3: re-entry renews', async () => {
  const [a, b] = [await open(), await open()]
  const fence = fenceOf(await a.step(at, ask('o', { ttlMs: 2_000 })))
  clock.jump(1_900)
  expect(await b.step(at, ask('o', { ttlMs: 2_000, hold: '2' }))).toMatchObject({ status: 'granted', fence, holds: 2 })
  clock.jump(1_900)
  expect((await b.step(at, ask('other', { waitMs: 0 }))).status).toBe('refused')
  expect((await a.read(at))?.grants[0]).toMatchObject({ fence, holds: 2 })
})

test('V4: a set of holds is freed by the last', async () => {
  const [a, b] = [await open(), await open()]
  const fence = fenceOf(await a.step(at, ask('o')))
  await b.step(at, ask('o', { hold: '2' }))
  // The same hold again adds nothing.
  expect(await b.step(at, ask('o', { hold: '2' }))).toMatchObject({ fence, holds: 2 })
  const release = { type: 'release', operation: 'lock', owner: 'o', fence, outcome: 'success' } as const
  expect(await a.step(at, { ...release, hold: '2' })).toMatchObject({ status: 'released', holdsLeft: 1 })
  expect((await b.step(at, ask('other', { waitMs: 0 }))).status).toBe('refused')
  expect(await b.step(at, { ...release, hold: '1' })).toMatchObject({ status: 'released', holdsLeft: 0 })
  expect((await b.step(at, ask('other', { waitMs: 0 }))).status).toBe('granted')
})

test('V5: a waiter in another process is told by the release itself', async () => {
  const [a, b] = [await open(), await open()]
  await b.openSession({ session: 's', node: 'n', ttlMs: 30_000 })
  const fence = fenceOf(await a.step(at, ask('holder')))
  await b.step(at, ask('waiter', { session: 's' }))
  const told = new Promise((resolve) => b.subscribe(({ event }) => event.type === 'granted' && resolve(event.fence)))
  await a.step(at, { type: 'release', operation: 'lock', owner: 'holder', hold: '1', fence, outcome: 'success' })
  expect(await told).toBe(fence + 1)
})

test('fairness: strictly in the order of the tickets, over processes', async () => {
  const processes = [await open(), await open(), await open()]
  let fence = fenceOf(await processes[0]!.step(at, ask('o0')))
  for (let index = 1; index <= 12; index++) {
    const reply = await processes[index % 3]!.step(at, ask(`o${index}`))
    expect(reply).toEqual({ status: 'queued', position: index })
  }
  for (let index = 0; index < 12; index++) {
    const release = { type: 'release', operation: 'lock', owner: `o${index}`, hold: '1', outcome: 'success' } as const
    await processes[(index + 1) % 3]!.step(at, { ...release, fence })
    const reply = await processes[(index + 2) % 3]!.step(at, ask(`o${index + 1}`))
    expect(reply).toMatchObject({ status: 'granted', fence: fence + 1 })
    fence++
  }
})

test('one who hears all is told of what other processes do, in order', async () => {
  const [a, b] = [await open(), await open()]
  const heard: string[] = []
  b.subscribe(({ event }) => heard.push(`${event.resource} ${event.type}`))
  await b.hearAll()
  const expected: string[] = []
  for (let round = 0; round < 20; round++) {
    const fence = fenceOf(await a.step(at, ask(`o${round}`)))
    await a.step(at, { type: 'release', operation: 'lock', owner: `o${round}`, hold: '1', fence, outcome: 'success' })
    expected.push('r granted', 'r ended')
  }
  await expect.poll(() => heard.length).toBe(expected.length)
  expect(heard).toEqual(expected)
  // Whoever listens on has nothing locked, and has cleared away what it read.
  const locked = 'SELECT trx_query FROM information_schema.INNODB_TRX WHERE trx_rows_locked > 0'
  await expect.poll(() => mariadb.query(locked)).toEqual([])
  await expect.poll(() => mariadb.query(`SELECT id FROM ${database}.baton_mail`)).toEqual([])
})

test('a bell that hangs on another connection by now is found again, and the commit that missed it counts once', async () => {
  const [a, b] = [await open(), await open()]
  const heard: string[] = []
  b.subscribe(({ event }) => event.type === 'granted' && heard.push(event.owner))
  await b.hearAll()
  const bells = async () => {
    const statement = `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE 'SELECT /* baton bell%'`
    return (await mariadb.query<{ id: number }>(statement, [database])).map(({ id }) => id)
  }
  const release = { type: 'release', operation: 'lock', hold: '1', outcome: 'success' } as const
  let fence = 0
  for (let round = 1; round <= 3; round++) {
    await expect.poll(async () => (await bells()).length).toBe(2)
    expect(fenceOf(await a.step(at, ask(`first ${round}`)))).toBe(++fence)
    await expect.poll(() => heard.length, { timeout: 5_000 }).toBe(2 * round - 1)
    await a.step(at, ask(`next ${round}`))
    await a.step(at, { ...release, owner: `first ${round}`, fence })
    expect(fenceOf(await a.step(at, ask(`next ${round}`)))).toBe(++fence)
    await a.step(at, { ...release, owner: `next ${round}`, fence })
    await expect.poll(() => heard.length, { timeout: 5_000 }).toBe(2 * round)
    const before = await bells()
    for (const id of before) await mariadb.query(`KILL CONNECTION ${id}`)
    await expect.poll(async () => (await bells()).some((id) => before.includes(id))).toBe(false)
  }
  expect(heard).toEqual(['first 1', 'next 1', 'first 2', 'next 2', 'first 3', 'next 3'])
})

test('a commit whose connection is lost is of unknown outcome, and is not made again', async () => {
  const backend = await openMysqlBackend({ url, clock })
  const address = { namespace: 'default', resource: 'r' }
  const state = { text: '{}', grants: 0, waiters: 0, queues: {}, dueAtMs: undefined }
  let runs = 0
  const lost = backend.transaction(async (transaction) => {
    runs++
    await transaction.open([{ address, sessions: [], parts: [] }], 'wait')
    const connected = 'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = ?'
    for (const { id } of await mariadb.query<{ id: number }>(connected, [database]))
      await mariadb.query(`KILL CONNECTION ${id}`)
    const nothing = { waiters: { appended: [], removed: [], renewed: [] }, memories: [], sessions: [], steps: [] }
    const places = { gained: [], lost: [] }
    const change = { address, nowMs: 0, state, fence: 1, leavesFence: false, ...nothing, places, letter: undefined }
    await transaction.commit([change])
  })
  await expect(lost).rejects.toThrow(UnknownOutcome)
  expect(runs).toBe(1)
  await backend.close()
})

test('a list shows what is due as it is after that, and leaves nothing out', async () => {
  const store = await open()
  await store.step(at, { type: 'add-reference', node: 'n' })
  await store.step(at, ask('dead', { ttlMs: 1_000 }))
  clock.jump(1_000)
  const { resources } = await store.list({ limit: 10, node: 'n' })
  expect(resources).toMatchObject([{ resource: 'r', grants: [], references: ['n'] }])
})

test('the tables are made once, however many start at once, with rights on one schema alone', async () => {
  const opened = await Promise.all(Array.from({ length: 8 }, () => open()))
  const asks = opened.map((store, index) => store.step(at, ask(`o${index}`, { waitMs: 0 })))
  expect((await Promise.all(asks)).filter(({ status }) => status === 'granted')).toHaveLength(1)
  expect(await createTablesAt(url)).toBe(false)
})

test('a user that may not make tables works on those that somebody else has made', async () => {
  const admin = await createConnection({ socketPath: mariadb.socket, user: 'root', database, multipleStatements: true })
  await admin.query(tablesText())
  await admin.query(`REVOKE ALL ON \`${database.replace('_', '\\_')}\`.* FROM '${database}'@'127.0.0.1'`)
  await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON \`${database}\`.* TO '${database}'@'127.0.0.1'`)
  admin.destroy()
  const store = await open()
  expect((await store.step(at, ask('o'))).status).toBe('granted')
})

test('a database that is busy when a process starts is waited for', async () => {
  const link = new Link(mariadb)
  const slow = new URL(url)
  slow.port = `${await link.listen()}`
  // For longer than a connection is waited for: the first try ends with ETIMEDOUT.
  const open = link.blackhole('back')
  const timer = setTimeout(open, 4_000)
  const startedMs = performance.now()
  const store = await openMysqlStore({ url: slow.href, clock })
  await store.hearAll()
  expect(performance.now() - startedMs).toBeGreaterThan(3_000)
  expect((await store.step(at, ask('o'))).status).toBe('granted')
  await store.close()
  clearTimeout(timer)
  await link.close()
})

test('a policy that differs from the stored one is refused with a sentence', async () => {
  const queueing = { namespaces: { default: { ...defaultNamespacePolicy, queueing: false } } }
  await open({ policy: queueing })
  await open({ policy: queueing })
  await open()
  await expect(open({ policy: defaultPolicy })).rejects.toThrow(/another policy.*baton policy/)
})

test('what a process that died has made of the tables is completed', async () => {
  await createTablesAt(url)
  await mariadb.query(`DROP TABLE ${database}.baton_store, ${database}.baton_mail`)
  expect(await checkMysqlStore(url)).toContainEqual(expect.stringContaining('there are no tables yet'))
  expect((await (await open()).step(at, ask('o'))).status).toBe('granted')
  await mariadb.query(`DELETE FROM ${database}.baton_store`)
  expect(await createTablesAt(url)).toBe(true)
})

test.each([
  ['format 2', 'UPDATE store SET format = 2'],
  ['an unknown format', 'ALTER TABLE store DROP COLUMN format'],
])('tables of %s are refused with a sentence, and left alone', async (format, change) => {
  const store = await open()
  await store.step(at, ask('o'))
  await store.close()
  await mariadb.query(change.replace('store', `${database}.baton_store`))
  const tables = await mariadb.query<{ name: string }>(
    'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? ORDER BY name',
    [database],
  )
  const checksums = () => mariadb.query(`CHECKSUM TABLE ${tables.map(({ name }) => `${database}.${name}`).join(', ')}`)
  const before = await checksums()
  for (const use of [
    () => openMysqlStore({ url }),
    createTablesAt,
    checkMysqlStore,
    (each: string) => raiseFences(each),
  ]) {
    const error = await use(url).catch((each) => each)
    expect(error).toBeInstanceOf(UnknownFormat)
    expect(error.code).toBe('unknown-format')
    expect(error.message).toBe(
      `the store in this database is in ${format}, but this Baton reads only format 1: use the version of Baton that wrote it, or name another store`,
    )
  }
  expect(await checksums()).toEqual(before)
})

test('tables of another engine are refused with a sentence', async () => {
  await createTablesAt(url)
  await mariadb.query(`ALTER TABLE ${database}.baton_mail ENGINE=MyISAM`)
  await expect(open()).rejects.toThrow(/baton_mail is MyISAM.*ENGINE=InnoDB/)
  await mariadb.query(`ALTER TABLE ${database}.baton_mail ENGINE=InnoDB`)
})

test('a wrong password, a missing database and a bad URL are said to be so, without the password', async () => {
  const wrong = url.replace(/:[^:@]+@/, ':s3cret@')
  for (const [bad, sentence] of [
    [wrong, /lets nobody in as this user/],
    [url.replace(/\/m_\d+$/, '/nowhere'), /refuses this user|create the database/],
    ['mysql://host', /named like mysql:\/\//],
    [`${url}?conections=3`, /'conections' means nothing/],
  ] as const) {
    const error = await openMysqlStore({ url: bad }).catch((thrown: Error) => thrown)
    expect(String((error as Error).message)).toMatch(sentence)
    expect(String(error)).not.toContain('s3cret')
  }
})

test('another server raises all fences, for it may have missed the last ones', async () => {
  const before = fenceOf(await (await open()).step(at, ask('o')))
  await mariadb.query(`UPDATE ${database}.baton_store SET server = 'another'`)
  const store = await open()
  await store.step(at, { type: 'revoke', operation: 'lock' })
  const after = fenceOf(await store.step(at, ask('p')))
  expect(before).toBeLessThan(2 ** 32)
  expect(after).toBeGreaterThan(2 ** 32)
})

test('fences of tables that were restored are raised above all that are known of, and another server goes on above them', async () => {
  const a = await open()
  expect(fenceOf(await a.step(at, ask('o')))).toBe(1)
  expect(await raiseFences(url)).toBe(`fences go on above ${2 ** 32}; none above 1 was known of`)
  // At once, also for processes that are there.
  const update = { operation: 'update' } as const
  expect(fenceOf(await a.step(at, ask('o', update)))).toBe(2 ** 32 + 1)
  expect(await raiseFences(url, 2 ** 33 + 1)).toBe(
    `fences go on above ${4 * 2 ** 32}; none above ${2 ** 32 + 1} was known of`,
  )
  expect(fenceOf(await a.step({ ...at, resource: 'other' }, ask('o')))).toBe(4 * 2 ** 32 + 1)
  await mariadb.query(`UPDATE ${database}.baton_store SET server = 'another'`)
  const b = await open()
  expect(fenceOf(await b.step({ ...at, resource: 'third' }, ask('o')))).toBe(5 * 2 ** 32 + 1)
  await expect(raiseFences(url, Number.MAX_SAFE_INTEGER)).rejects.toThrow('choose less with --by')
})

test('a queue of thousands is told in one go', async () => {
  const store = await open()
  const fence = fenceOf(await store.step(at, ask('o', { operation: 'pull' })))
  const waiters = Array.from({ length: 3_000 }, (_, index) => ask(`w${index}`, { operation: 'pull' }))
  for (let from = 0; from < waiters.length; from += 500)
    await Promise.all(waiters.slice(from, from + 500).map((waiter) => store.step(at, waiter)))
  expect(store.waiting()).toBe(3_000)
  let told = 0
  store.subscribe(({ event, to }) => {
    if (event.type === 'told') told += to.length
  })
  await store.step(at, { type: 'release', operation: 'pull', owner: 'o', hold: '1', fence, outcome: 'success' })
  expect(told).toBe(3_000)
  expect((await store.step(at, waiters[2_999]!)).status).toBe('skip')
}, 60_000)

test('a store is new to the process that makes its tables, and says where it is without its password; sessions are told of', async () => {
  const told: unknown[] = []
  const options = {
    onFound: (found: object) => told.push(found),
    onSession: (session: string, change: string) => told.push(`${session} ${change}`),
  }
  const store = await open(options)
  await open(options)
  const { host, password } = new URL(url)
  const found = { at: `mysql://${host}/${database}` }
  expect(told.splice(0)).toEqual([
    { ...found, isNew: true },
    { ...found, isNew: false },
  ])
  for (const session of ['a', 'b']) await store.openSession({ session, node: 'n', ttlMs: 1_000 })
  await store.renewSession('a')
  await store.closeSession('a')
  await clock.advance(2_000)
  await store.sweep(10)
  expect(told).toEqual(['a opened', 'b opened', 'a left', 'b lost'])
  expect(JSON.stringify(told)).not.toContain(password)
})
