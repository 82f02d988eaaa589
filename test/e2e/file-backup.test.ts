import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { type Baton, connect } from '../../src/client/index.ts'
import { baton } from './cli-process.ts'
import { type FileServer, fileStores, serve } from './file-server.ts'

const { newDirectory } = fileStores()

const clients: Baton[] = []
afterAll(() => Promise.all(clients.map((client) => client.close())))

async function clientOf({ url }: FileServer, node: string): Promise<Baton> {
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
async function load(server: FileServer): Promise<Load> {
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

test('a backup under load has all that was acknowledged before, and restored elsewhere it gives no fence twice', async () => {
  const directory = newDirectory()
  const server = await serve(directory)
  onTestFinished(() => server.kill())
  const loaded = await load(server)
  const target = newDirectory()
  const before = [...loaded.acknowledged]
  const copied = await baton(['store', 'backup', directory, '--to', target])
  expect(copied).toMatchObject({ code: 0, stderr: '' })
  expect(copied.stdout).toContain(`${directory} was copied to ${target}: `)
  const [, resources, sessions] = counted.exec(copied.stdout)!
  expect(Number(resources)).toBeGreaterThanOrEqual(before.length)
  expect(sessions).toBe('6')
  // It went on meanwhile, and goes on.
  await expect.poll(() => loaded.acknowledged.length, { timeout: 15_000 }).toBeGreaterThan(before.length + 100)
  await loaded.stop()
  await server.kill()

  expect(readdirSync(target).sort()).toEqual(['fences', 'format', 'id', 'log-0'])
  for (const name of readdirSync(target)) expect(statSync(join(target, name)).mode & 0o777).toBe(0o600)
  expect(statSync(target).mode & 0o777).toBe(0o700)
  expect(await baton(['store', 'check', target])).toMatchObject({ code: 0 })

  const elsewhere = newDirectory()
  const restored = await baton(['store', 'restore', elsewhere, '--from', target])
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(restored.stdout).toContain(`${target} was restored to ${elsewhere}: ${resources} resources`)
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
  expect((await baton(['store', 'backup', directory, '--to', target])).code).toBe(0)
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await baton(['store', ...args])
    expect(stdout).toBe('')
    return { code, stderr }
  }
  expect(await said('backup', directory, '--to', target)).toEqual({
    code: 69,
    stderr: `baton: ${target} has a store or a backup in it already: name another with --to\n`,
  })
  expect(await said('restore', directory, '--from', target, '--force')).toEqual({
    code: 69,
    stderr: `baton: ${directory} is in use by process ${server.process.pid}; end that one, or choose another directory\n`,
  })
  server.process.kill('SIGTERM')
  await server.process.ended
  expect(await said('restore', directory, '--from', target)).toEqual({
    code: 69,
    stderr: `baton: ${directory} has a store in it: --force puts it aside, or name another directory\n`,
  })
  const log = join(target, 'log-0')
  const bytes = readFileSync(log)
  bytes[bytes.indexOf('"restart"')]! ^= 0x10
  writeFileSync(log, bytes)
  const fresh = newDirectory()
  expect(await said('restore', fresh, '--from', target)).toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/^baton: log-0 in \S+ is damaged at byte 0, record 1: [^\n]+\n$/),
  })
  expect(existsSync(fresh)).toBe(false)
  for (const args of [
    ['backup', directory],
    ['restore', directory],
    ['backup', directory, '--to', ''],
  ])
    expect((await said(...args)).code).toBe(64)
}, 30_000)

test('--force puts the old store aside, --as-copy makes another one of it', async () => {
  const directory = newDirectory()
  const server = await serve(directory)
  await (await clientOf(server, 'a')).references.add('r')
  server.process.kill('SIGTERM')
  await server.process.ended
  const folder = newDirectory()
  // While no server runs, and to a directory that is there: each has its own by the time.
  await baton(['store', 'backup', directory, '--to', join(folder, 'first')])
  const { stdout } = await baton(['store', 'backup', '--store', `file:${directory}`, '--to', folder])
  const [, place] = /was copied to (\S+\/baton-\d{8}T\d{6}Z): 1 resources/.exec(stdout)!
  const forced = await baton(['store', 'restore', directory, '--from', place!, '--force'])
  const [, aside] = /^the store that was in \S+ was put aside as (\S+\/replaced-\d{8}T\d{6}Z)\n/.exec(forced.stdout)!
  expect(readdirSync(aside!).sort()).toEqual(['fences', 'format', 'id', 'log-0'])
  const copy = newDirectory()
  const copied = await baton(['store', 'restore', '--store', `file:${copy}`, '--from', place!, '--as-copy'])
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
}, 30_000)

test.each(['backup --to', 'restore --from'])(
  'store %s of a database says how, and no password; of memory: why not',
  async (tool) => {
    const database = await baton(['store', ...tool.split(' '), 'x', '--store', 'mysql://u:secret@nowhere.example/db'])
    expect(database).toMatchObject({ code: 64, stdout: '' })
    expect(database.stderr).toMatch(/end all servers, `mysql DATABASE < FILE`, then `baton store raise-fences URL`/)
    if (tool.startsWith('backup')) expect(database.stderr).toContain('`mysqldump --single-transaction DATABASE > FILE`')
    expect(database.stderr).not.toContain('secret')
    const memory = await baton(['store', ...tool.split(' '), 'x', '--store', 'memory:'])
    expect(memory).toMatchObject({ code: 64, stderr: expect.stringContaining('nothing to back up') })
  },
)
