import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Baton, connect } from '@baton-lock/client'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { baton, startServer, type TestServer } from './cli-process.ts'
import { fileStores, serve } from './file-server.ts'

const { newDirectory } = fileStores()

const clients: Baton[] = []
afterAll(() => Promise.all(clients.map((client) => client.close())))

async function clientOf({ url }: TestServer, node: string): Promise<Baton> {
  const client = await connect(url, { node, onNotice: () => {}, whenUnavailable: 'fail' })
  clients.push(client)
  return client
}

interface Load {
  /** Resources that were referenced, each as soon as that was acknowledged. */
  readonly acknowledged: string[]
  highestFence: number
  stop(): Promise<void>
}

/** Clients that take one lock in turn, and whose work leaves something behind each time. */
async function load(server: TestServer): Promise<Load> {
  let isOver = false
  const load: Load = {
    acknowledged: [],
    highestFence: 0,
    async stop() {
      isOver = true
      await Promise.all(working)
    },
  }
  const work = async (client: Baton) => {
    for (let count = 0; !isOver; count++) {
      const name = `${client.node}-${count}`
      await client.references.add(name)
      load.acknowledged.push(name)
      await client.lock('shared', ({ fence }) => {
        load.highestFence = Math.max(load.highestFence, fence)
      })
    }
  }
  const nodes = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((node) => clientOf(server, node)))
  const working = nodes.map((client) => work(client).catch(() => {}))
  await expect.poll(() => load.acknowledged.length, { timeout: 15_000 }).toBeGreaterThan(100)
  return load
}

const counted = /: (\d+) resources, \d+ grants, \d+ waiters and (\d+) sessions; the last change is of \d{4}-/

const backup = ({ url }: TestServer, to: string, ...flags: string[]) =>
  baton(['store', 'backup', to, '--server', url, ...flags])

async function stop({ process }: TestServer): Promise<void> {
  process.kill('SIGTERM')
  await process.ended
}

test('a backup under load has all that was acknowledged before, and restored elsewhere it gives no fence twice', async () => {
  const directory = newDirectory()
  const server = await serve(directory)
  onTestFinished(() => server.kill())
  const loaded = await load(server)
  const target = newDirectory()
  const before = [...loaded.acknowledged]
  const copied = await backup(server, target)
  expect(copied).toMatchObject({ code: 0, stderr: '' })
  expect(copied.stdout).toContain(`the store was written to ${target}: `)
  const [, resources, sessions] = counted.exec(copied.stdout)!
  expect(Number(resources)).toBeGreaterThanOrEqual(before.length)
  expect(sessions).toBe('6')
  // It went on meanwhile, and goes on.
  await expect.poll(() => loaded.acknowledged.length, { timeout: 15_000 }).toBeGreaterThan(before.length + 100)
  await loaded.stop()
  await server.kill()

  expect(statSync(target).mode & 0o777).toBe(0o600)
  expect(await baton(['store', 'check', target])).toMatchObject({ code: 0 })

  const elsewhere = newDirectory()
  const restored = await baton(['store', 'restore', target, '--store', `file:${elsewhere}`])
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(restored.stdout).toContain(`${target} was restored to ${elsewhere}: ${resources} resources`)
  for (const name of readdirSync(elsewhere)) expect(statSync(join(elsewhere, name)).mode & 0o777).toBe(0o600)
  const second = await serve(elsewhere)
  onTestFinished(() => second.kill())
  const client = await clientOf(second, 'z')
  const found = new Set<string>()
  for await (const { resource } of client.list()) found.add(resource)
  expect(before.filter((resource) => !found.has(resource))).toEqual([])
  // Whoever held the lock then has its whole lease once more, so another operation.
  await using grant = await client.acquire('update', 'shared')
  expect(grant.fence).toBeGreaterThan(loaded.highestFence)
  expect(readFileSync(join(elsewhere, 'id'), 'utf8')).toBe(readFileSync(join(directory, 'id'), 'utf8'))
}, 60_000)

test('what cannot be done is refused with a sentence, and nothing is touched', async () => {
  const directory = newDirectory()
  const target = newDirectory()
  const server = await serve(directory)
  onTestFinished(() => server.kill())
  await (await clientOf(server, 'a')).references.add('r')
  expect((await backup(server, target)).code).toBe(0)
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await baton(['store', ...args])
    expect(stdout).toBe('')
    return { code, stderr }
  }
  expect(await said('backup', target, '--server', server.url)).toEqual({
    code: 69,
    stderr: `baton: ${target} is there already: name another file\n`,
  })
  const inUse = `baton: ${directory} is in use by process ${server.process.pid}; end that one, or choose another directory`
  expect(await said('backup', `${target}-2`, '--store', `file:${directory}`)).toEqual({
    code: 69,
    stderr: `${inUse}; while a server has it open, name that with --server\n`,
  })
  expect(await said('restore', target, '--store', `file:${directory}`, '--force')).toEqual({
    code: 69,
    stderr: `${inUse}\n`,
  })
  await stop(server)
  expect(await said('backup', `${target}-2`, '--server', server.url)).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/ does not answer \(.*\); see that it runs/),
  })
  expect(await said('restore', target, '--store', `file:${directory}`)).toEqual({
    code: 69,
    stderr: `baton: ${directory} has a store in it: --force moves it aside, or name another directory\n`,
  })
  const bytes = readFileSync(target)
  bytes[bytes.indexOf('"references"')]! ^= 0x10
  writeFileSync(target, bytes)
  const fresh = newDirectory()
  expect(await said('restore', target, '--store', `file:${fresh}`)).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(
      /^baton: \S+ cannot be restored: \S+ in \S+ is damaged at byte \d+: [^\n]+; use another backup\n$/,
    ),
  })
  expect(existsSync(fresh)).toBe(false)
  expect(await said('check', target)).toMatchObject({ code: 1, stderr: expect.stringContaining('use another backup') })
  for (const args of [
    ['backup'],
    ['backup', ''],
    ['backup', target, '--server', 'http://127.0.0.1:1', '--store', `file:${directory}`],
    ['restore'],
  ])
    expect((await said(...args)).code).toBe(64)
}, 60_000)

test('--force moves the old store aside, --as-copy makes another one of it', async () => {
  const directory = newDirectory()
  const server = await serve(directory)
  await (await clientOf(server, 'a')).references.add('r')
  await stop(server)
  const target = newDirectory()
  const { stdout } = await baton(['store', 'backup', target, '--store', `file:${directory}`])
  expect(stdout).toContain(`${directory} was written to ${target}: 1 resources`)
  const forced = await baton(['store', 'restore', target, '--store', `file:${directory}`, '--force'])
  const [, aside] = /^the store that was in \S+ was moved to (\S+\/replaced-\d{8}T\d{6}Z)\n/.exec(forced.stdout)!
  expect(readdirSync(aside!).sort()).toEqual(['fences', 'format', 'id', 'log-0'])
  const copy = newDirectory()
  const copied = await baton(['store', 'restore', target, '--store', `file:${copy}`, '--as-copy'])
  expect(copied.stdout).toContain('it is a store of its own')
  const idOf = async (of: string) => {
    const each = await serve(of)
    const { headers } = await fetch(`${each.url}/v1/policy`)
    await each.kill()
    return headers.get('baton-store')
  }
  const [again, other] = [await idOf(directory), await idOf(copy)]
  expect(again).toBe(readFileSync(join(aside!, 'id'), 'utf8').trim())
  expect(other).not.toBe(again)
}, 60_000)

test('a server that has another store says that it is backed up otherwise', async () => {
  const server = await startServer()
  onTestFinished(() => server.kill())
  expect(await server.baton('store', 'backup', newDirectory())).toMatchObject({
    code: 64,
    stdout: '',
    stderr: 'baton: The store of this server is backed up by its own means; see docs/operations.md.\n',
  })
})

test.each(['backup', 'restore'])(
  'store %s of a database says how, and no password; of memory: why not',
  async (tool) => {
    const database = await baton(['store', tool, 'x', '--store', 'mysql://u:secret@nowhere.example/db'])
    expect(database).toMatchObject({ code: 64, stdout: '' })
    expect(database.stderr).toMatch(/end all servers, `mysql DATABASE < FILE`, then `baton store raise-fences URL`/)
    if (tool === 'backup') expect(database.stderr).toContain('`mysqldump --single-transaction DATABASE > FILE`')
    expect(database.stderr).not.toContain('secret')
    const memory = await baton(['store', tool, 'x', '--store', 'memory:'])
    expect(memory).toMatchObject({ code: 64, stderr: expect.stringContaining('nothing to back up') })
  },
)
