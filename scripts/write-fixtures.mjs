// Writes stores with a bit of everything in them, as a build of Baton does it, for the tests that later builds open them:
//   npm run build && node scripts/write-fixtures.mjs --dist dist --to test/fixtures/version-3
// That goes through `Store.step` alone, with a clock of its own, so it can be done by the build of any commit.
import { deepStrictEqual } from 'node:assert'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const { dist, to } = parseArgs({ options: { dist: { type: 'string' }, to: { type: 'string' } } }).values
if (dist === undefined || to === undefined)
  throw new Error('say --dist DIR, where the build is, and --to DIR, which is made')
if (existsSync(to)) throw new Error(`${to} is there already`)
const load = (path) => import(pathToFileURL(join(resolve(dist), path)).href)
const { completePolicy, saidIn } = await load('core/index.js')
const { openFileStore } = await load('stores/file/index.js')
const { openMysqlStore } = await load('stores/mysql/index.js')
const { startMariadb } = await load('testing/harness/mariadb.js')

/** So long that nothing runs out while somebody looks. */
const LONG_MS = 10_000_000
const HOUR_MS = 3_600_000

const operations = { compile: { attempts: 5, retryDelayMs: HOUR_MS, keepMs: HOUR_MS, waitersOnSuccess: 'skip' } }
const configured = completePolicy({ namespaces: { default: { operations }, team: { exclusion: 'resource' } } })
const applied = completePolicy({
  namespaces: { default: { operations: { ...operations, bake: { attempts: 2 } } }, team: { exclusion: 'resource' } },
})

function newClock() {
  let nowMs = 1_700_000_000_000
  return { nowMs: () => nowMs, pass: (ms) => (nowMs += ms) }
}

/** The calls of a store, each at a moment of its own. */
function callsOf(store, clock) {
  const step = (resource, command, namespace = 'default') => {
    clock.pass(10)
    return store.step({ namespace, resource }, command)
  }
  const ask = async (resource, operation, node, more = {}) => {
    const { namespace, ...others } = more
    const asker = { operation, node, owner: `${node}-owner`, hold: '1', ttlMs: LONG_MS }
    return step(resource, { type: 'acquire', ...asker, ...others }, namespace)
  }
  const release = (resource, operation, node, outcome, { namespace, ...more } = {}) =>
    step(resource, { type: 'release', operation, owner: `${node}-owner`, hold: '1', ...outcome, ...more }, namespace)
  return { step, ask, release }
}

const success = (result) => ({ outcome: 'success', ...(result !== undefined && { result }) })

/** What is there before the log of the second directory turns over. */
async function writeFirst(store, clock) {
  const { step, ask, release } = callsOf(store, clock)
  await store.applyPolicy(applied, (await store.policy()).version)
  for (const [session, node] of [
    ['s1', 'n1'],
    ['s2', 'n2'],
    ['s3', 'n3'],
  ])
    await store.openSession({ session, node, ttlMs: LONG_MS })
  // Held, with a line: by sessions and without, of a revision, and with a limit to the wait.
  await ask('held', 'lock', 'n1', { session: 's1' })
  await step('held', {
    type: 'progress',
    operation: 'lock',
    owner: 'n1-owner',
    fence: 1,
    progress: { done: 0.5, ü: [1, null] },
  })
  await ask('held', 'lock', 'n2', { session: 's2' })
  await ask('held', 'lock', 'n3', { waitMs: LONG_MS })
  await ask('held', 'update', 'n3', { session: 's3', revision: 'v 2' })
  // Entered twice by one owner, once without a session.
  await ask('entered', 'lock', 'n1', { session: 's1' })
  await ask('entered', 'lock', 'n1', { hold: '2' })
  // Done, with results, and references of those who did it and who skipped.
  await ask('kept', 'pull', 'n1')
  await ask('kept', 'pull', 'n2')
  await release('kept', 'pull', 'n1', success({ bytes: 42, where: 'ä/b' }), { fence: 1 })
  await ask('kept', 'once', 'n1', { revision: 'r1' })
  await release('kept', 'once', 'n1', success('twice'), { fence: 2, keepMs: HOUR_MS })
  await step('referenced', { type: 'add-reference', node: 'n1' })
  await step('referenced', { type: 'add-reference', node: 'n4' })
  await step('referenced', { type: 'release-reference', node: 'n4' })
}

/** What is done after that. */
async function writeSecond(store, clock) {
  const { step, ask, release } = callsOf(store, clock)
  // A failure, after which the queue is paused.
  await ask('paused', 'compile', 'n1')
  await ask('paused', 'compile', 'n2', { session: 's2' })
  await release('paused', 'compile', 'n1', { outcome: 'failure', error: 'exit code 1' }, { fence: 1 })
  // Handed over, and not yet claimed.
  await ask('unclaimed', 'lock', 'n1')
  await ask('unclaimed', 'lock', 'n2', { session: 's2' })
  await release('unclaimed', 'lock', 'n1', success(), { fence: 1 })
  // Failed for good, and revoked.
  await ask('failed', 'pull', 'n1')
  await ask('failed', 'pull', 'n2')
  await release('failed', 'pull', 'n1', { outcome: 'failure', error: '404', permanent: true }, { fence: 1 })
  await ask('revoked', 'lock', 'n1')
  await step('revoked', { type: 'revoke', operation: 'lock' })
  // One grant for the whole resource.
  const team = { namespace: 'team' }
  await ask('shared', 'delete', 'n1', { ...team, session: 's1' })
  await ask('shared', 'pull', 'n2', team)
  await ask('shared', 'update', 'n3', team)
  // Forgotten but for its fence.
  await ask('idle', 'lock', 'n1')
  await release('idle', 'lock', 'n1', success(), { fence: 1 })
  await step('idle', { type: 'acknowledge', operation: 'lock', owner: 'n1-owner', hold: '1' })
  await store.closeSession('s3')
}

const RESOURCES = ['held', 'entered', 'kept', 'referenced', 'paused', 'unclaimed', 'failed', 'revoked', 'team/shared']
const ASKS = [
  ['held', 'lock', 'n1'],
  ['held', 'lock', 'n2'],
  ['held', 'lock', 'n3'],
  ['kept', 'pull', 'n2'],
  ['paused', 'compile', 'n2'],
  ['unclaimed', 'lock', 'n2'],
  ['failed', 'pull', 'n2'],
]

/** What this build says of it. */
async function said(store, clock) {
  const addressOf = (name) => (name.includes('/') ? name : `default/${name}`).split('/')
  const views = {}
  for (const name of RESOURCES) {
    const [namespace, resource] = addressOf(name)
    views[`${namespace}/${resource}`] = await store.read({ namespace, resource })
  }
  const standings = []
  for (const [resource, operation, node] of ASKS) {
    const asked = { namespace: 'default', resource, operation, node, owner: `${node}-owner`, hold: '1' }
    standings.push([asked, await store.standing(asked)])
  }
  const sessions = []
  for (const session of ['s1', 's2', 's3']) {
    const places = await store.places(session)
    const inOrder = (a, b) => (a.resource < b.resource ? -1 : 1)
    sessions.push({ session, places: places ? [...places].sort(inOrder) : null })
  }
  const policy = await store.policy()
  return {
    nowMs: clock.nowMs(),
    configured: saidIn(configured),
    policy: { version: policy.version, policy: saidIn(policy.policy) },
    sessions,
    views,
    standings,
  }
}

const timing = { uniqueName: () => 'the-store-of-a-fixture', after: () => () => {} }

async function writeFile(name, logLimit) {
  const clock = newClock()
  const directory = join(to, name)
  const store = await openFileStore({ directory, clock, policy: configured, logLimit, timing })
  await writeFirst(store, clock)
  const snapshots = () => readdirSync(directory).filter((each) => /^(log|snapshot)-\d+$/.test(each)).length
  while (logLimit < Infinity && snapshots() !== 2) await new Promise((done) => setTimeout(done, 10))
  await writeSecond(store, clock)
  const expected = await said(store, clock)
  await store.close()
  return expected
}

async function writeMysql() {
  const mariadb = await startMariadb({ folder: mkdtempSync(join(tmpdir(), 'baton-fixtures-')) })
  try {
    const clock = newClock()
    const url = await mariadb.createDatabase('fixtures')
    const store = await openMysqlStore({ url, clock, policy: configured })
    await writeFirst(store, clock)
    await writeSecond(store, clock)
    const expected = await said(store, clock)
    await store.close()
    writeFileSync(join(to, 'mysql.sql'), await dump(mariadb))
    return expected
  } finally {
    await mariadb.stop()
  }
}

/** What belongs to the machine, and is another every time. */
const REPLACED = {
  applied_at: `'2023-11-14 22:13:20'`,
  process: '0x70',
  server: 'NULL',
  hearers: 'NULL',
  store_id: `'the-store-of-a-fixture'`,
}

async function dump(mariadb) {
  const lines = [
    '-- Bytes as hex. What is another on every machine is made up: the process, the time of migrations, the id.',
  ]
  const tables = await mariadb.query('SHOW TABLES FROM fixtures')
  for (const table of tables.map((row) => Object.values(row)[0]).sort()) {
    const [created] = await mariadb.query(`SHOW CREATE TABLE fixtures.${table}`)
    lines.push('', `${created['Create Table'].replace(/ AUTO_INCREMENT=\d+/, '')};`)
    if (table === 'baton_mail') continue
    for (const row of await mariadb.query(`SELECT * FROM fixtures.${table}`)) {
      const values = Object.entries(row).map(([column, value]) => REPLACED[column] ?? literal(value))
      lines.push(`INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')});`)
    }
  }
  return `${lines.join('\n')}\n`
}

function literal(value) {
  if (value === null) return 'NULL'
  if (Buffer.isBuffer(value)) return value.length === 0 ? `''` : `0x${value.toString('hex')}`
  return typeof value === 'number' ? `${value}` : `'${value}'`
}

mkdirSync(to, { recursive: true })
const written = [await writeFile('file', Infinity), await writeFile('file-snapshot', 3_000), await writeMysql()]
for (const each of written) deepStrictEqual(each, written[0])
writeFileSync(join(to, 'said.json'), `${JSON.stringify(written[0], null, 1)}\n`)
const files = (name) => readdirSync(join(to, name)).sort().join(', ')
const format = readFileSync(join(to, 'file', 'format'), 'utf8').trim()
process.stdout.write(`${to}: ${format}; file: ${files('file')}; file-snapshot: ${files('file-snapshot')}\n`)
