import { writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { serverOfFile, startServer } from './cli-process.ts'

const { server, folder } = serverOfFile()

const policy = (...args: string[]) => server.baton('policy', ...args)
/** Without a process of its own: it is asked for often. */
const shown = async () => JSON.parse(await (await fetch(`${server.url}/v1/policy`)).text())
const lines = (text: string) => text.trimEnd().split('\n')

describe('baton policy', () => {
  beforeEach(async () => {
    const { version } = await shown()
    const body = JSON.stringify({ version, policy: { namespaces: {} } })
    expect((await fetch(`${server.url}/v1/policy`, { method: 'PUT', body })).status).toBe(200)
  })

  test('set changes what it names, says what and the new version, and says so when there is nothing to change', async () => {
    const { version } = await shown()
    const rows = ['compile.waitersOnSuccess=skip', 'compile.keepMs=1h', 'compile.attempts=3', 'exclusion=resource']
    const set = await policy('set', ...rows)
    expect([set.code, lines(set.stdout)]).toEqual([
      0,
      [
        'changed  exclusion: operation → resource',
        'added    compile: waitersOnSuccess=skip keepMs=1h attempts=3',
        `the policy is at version ${version + 1} now`,
      ],
    ])
    expect((await policy('set', ...rows)).stdout).toBe(
      `nothing to change: the policy stays at version ${version + 1}\n`,
    )
    const build = await policy('set', 'pull.attempts=2', '--namespace', 'build')
    expect(build.stdout).toContain('changed  [build] pull.attempts: 0 → 2\n')
    const { namespaces } = (await shown()).policy
    expect(namespaces.build).toMatchObject({ exclusion: 'operation', operations: { pull: { attempts: 2 } } })
    expect(namespaces.default).toMatchObject({ exclusion: 'resource', operations: { compile: { keepMs: 3_600_000 } } })
  })

  test('the help of set and of apply says how a row is removed', async () => {
    const [set, apply] = await Promise.all([policy('set', '--help'), policy('apply', '--help')])
    expect(set.stdout).toContain('A row is removed by `baton policy apply FILE --prune`')
    expect(apply.stdout).toContain('A row is removed with --prune')
  })

  test('set of what there is not, or cannot be: 64, with what is known', async () => {
    const [column, range] = await Promise.all([policy('set', 'compile.atempts=3'), policy('set', 'claimMs=1ms')])
    expect([column.code, column.stdout, range.code, range.stdout]).toEqual([64, '', 64, ''])
    expect(column.stderr).toMatch(/there are whenReferenced, waitersOnSuccess/)
    expect(range.stderr).toMatch(/namespaces\.default\.claimMs/)
  })

  test('apply leaves what the file does not name; --dry-run changes nothing; --prune makes it exactly the file', async () => {
    await policy('set', 'bake.attempts=1', 'queueLimit=5')
    const { version } = await shown()
    const path = folder.write('p.toml', '[policy.namespaces.default.operations.compile]\nattempts = 3\n')
    const added = 'added    compile: attempts=3'
    const dry = await policy('apply', path, '--dry-run')
    expect(lines(dry.stdout)).toEqual([added, `nothing was changed (--dry-run): the policy is at version ${version}`])
    expect((await shown()).version).toBe(version)
    const pruned = ['changed  queueLimit: 5 → 10000', 'removed  bake', added]
    expect(lines((await policy('apply', path, '--dry-run', '--prune')).stdout).slice(0, -1)).toEqual(pruned)
    expect(lines((await policy('apply', path)).stdout)).toEqual([added, `the policy is at version ${version + 1} now`])
    expect((await policy('apply', path)).stdout).toMatch(/^nothing to change/)
    expect((await shown()).policy.namespaces.default).toMatchObject({
      queueLimit: 5,
      operations: { bake: { attempts: 1 }, compile: { attempts: 3 } },
    })
    expect((await policy('apply', path, '--prune')).stdout).toContain('removed  bake\n')
    expect((await shown()).policy.namespaces.default.operations.bake).toBeUndefined()
  })

  test('what show prints can be applied, and a version in it is compared', async () => {
    const toml = folder.write('shown.toml', (await policy('show')).stdout)
    expect((await policy('apply', toml)).stdout).toMatch(/^nothing to change/)
    const json = folder.write('shown.json', (await policy('show', '--json')).stdout)
    expect((await policy('apply', json, '--prune')).stdout).toMatch(/^nothing to change/)
    await policy('set', 'compile.attempts=3')
    for (const stale of await Promise.all([policy('apply', json), policy('apply', json, '--dry-run')])) {
      expect([stale.code, stale.stdout]).toEqual([1, ''])
      expect(stale.stderr).toContain('another version')
    }
  })

  test('a file with what there is not: 64, with the place', async () => {
    const path = folder.write('bad.toml', '[policy.namespaces.default]\nexclusion = "world"\n')
    const { code, stderr } = await policy('apply', path, '--dry-run')
    expect(code).toBe(64)
    expect(stderr).toMatch(/bad\.toml has to be changed: namespaces\.default\.exclusion/)
  })
})

test('a server started with updateRequiresNoRef refuses an update while nodes use the resource', async () => {
  writeFileSync(folder.path('baton.toml'), '[policy.namespaces.default]\nupdateRequiresNoRef = true\n')
  const strict = await startServer(['--config', folder.path('baton.toml')])
  const post = async (path: string, type: string, node: string) => {
    const body = JSON.stringify({ type, resource_id: 'x', node_id: node })
    const response = await fetch(strict.url + path, { method: 'POST', body })
    return { status: response.status, ...((await response.json()) as { acquired?: boolean; error?: string }) }
  }
  await post('/lock', 'pull', 'a')
  await post('/unlock', 'pull', 'a')
  expect(await post('/lock', 'update', 'b')).toMatchObject({
    status: 403,
    acquired: false,
    error: expect.stringContaining('update is refused'),
  })
  const { code, stderr } = await strict.baton('run', 'update', 'x', '--node', 'b', '--', 'true')
  expect([code, stderr]).toEqual([
    73,
    'baton: update x: nodes use it, `baton refs list x` shows them; ask again when they have dropped their references\n',
  ])
  await strict.baton('refs', 'release', 'x', '--node', 'a')
  expect(await post('/lock', 'update', 'b')).toMatchObject({ status: 200, acquired: true })
  await strict.stop()
})
