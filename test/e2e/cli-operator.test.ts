import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { baton, serverOfFile, start, startServer, until } from './cli-process.ts'

const { server, folder } = serverOfFile()

// What they work on differs, and most of the time goes into starting processes.
describe.concurrent('baton serve', () => {
  test('says one line, and ends with 0 on SIGTERM though streams are open', async () => {
    const own = await startServer()
    const events = own.start('events', '--json')
    await until('the stream is open', () => events.stdout() !== '')
    const askedAtMs = Date.now()
    const { code, stdout } = await own.stop()
    expect({ code, stdout }).toEqual({ code: 0, stdout: `baton listening on ${own.url}\n` })
    expect(Date.now() - askedAtMs).toBeLessThan(4_000)
    events.kill('SIGINT')
    expect((await events.ended).code).toBe(130)
  })

  test('a port in use: 69 and what to do', async () => {
    const { code, stdout, stderr } = await baton(['serve', '--store', 'memory:', '--port', new URL(server.url).port])
    expect({ code, stdout }).toEqual({ code: 69, stdout: '' })
    expect(stderr).toMatch(/^baton: port \d+ of 127\.0\.0\.1 is in use; .*--port/)
  })

  test('beyond loopback without tokens: 64 and what to do', async () => {
    const { code, stderr } = await baton(['serve', '--host', '0.0.0.0', '--port', '0'])
    expect(code).toBe(64)
    expect(stderr).toMatch(/--tokens FILE.*--insecure/)
  })

  test('a store that there is not: 64, and no password is shown', async () => {
    const { code, stderr } = await baton(['serve', '--store', 'redis://me:secret@host'])
    expect(code).toBe(64)
    expect(stderr).not.toContain('secret')
  })

  test.each([
    ['serve', []],
    ['run', ['lock', 'x', '--', 'true']],
    ['store check', []],
  ])('baton %s tells a wrong URL of a store, 64, from a store that cannot be used, 69', async (command, flags) => {
    writeFileSync(folder.path('no-directory'), '')
    const on = (url: string) => baton([...command.split(' '), '--store', url, ...flags])
    const wrong = await on('file://elsewhere/share')
    expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringMatching(/^baton: .*write file:DIR, [^\n]*\n$/)])
    const unfit = await on(`file:${folder.path('no-directory')}`)
    expect([unfit.code, unfit.stderr]).toEqual([69, expect.stringMatching(/^baton: \S*no-directory [^\n]*\n$/)])
  })

  test('an odd ALLOW_MULTI_NODE_DOWNLOAD is a warning', async () => {
    const odd = await startServer([], { ALLOW_MULTI_NODE_DOWNLOAD: 'maybe' })
    expect((await odd.stop()).stderr).toMatch(/^baton: ALLOW_MULTI_NODE_DOWNLOAD is 'maybe'/)
  })

  test('reads its file', async () => {
    writeFileSync(folder.path('c.toml'), 'port = 1\n[policy.namespaces.default.operations.compile]\nattempts = 3\n')
    const own = await startServer(['--config', folder.path('c.toml')])
    const { stdout } = await own.baton('policy', 'show', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      policy: { namespaces: { default: { operations: { compile: { attempts: 3 }, pull: {} } } } },
    })
    await own.stop()
  })
})

describe.concurrent('an operator', () => {
  test('counts references', async () => {
    expect((await server.baton('refs', 'add', 'r', '--node', 'a')).stdout).toBe('a uses r: 1 reference now\n')
    expect((await server.baton('refs', 'add', 'r', '--node', 'b')).stdout).toBe('b uses r: 2 references now\n')
    expect((await server.baton('refs', 'list', 'r')).stdout).toBe('a\nb\n')
    expect((await server.baton('refs', 'list', 'r', '--json')).stdout).toBe('["a","b"]\n')
    expect((await server.baton('refs', 'release', 'r', '--node', 'a')).stdout).toContain('1 reference now')
    expect((await server.baton('refs', 'drop-node', 'b')).stdout).toBe('dropped b from 1 resource\n')
    expect((await server.baton('refs', 'list', 'r')).stdout).toBe('')
  })

  test('lists all that is referenced, and nothing else', async () => {
    const own = await startServer()
    await own.baton('refs', 'add', 'sha256:long', '--node', 'a')
    await own.baton('refs', 'add', 'sha256:long', '--node', 'b')
    await own.baton('refs', 'add', 'r', '--node', 'b', '--namespace', 'build')
    await own.baton('once', 'nightly', '--per', '1h', '--', 'true')
    const [all, json, build] = await Promise.all([
      own.baton('refs', 'list'),
      own.baton('refs', 'list', '--json'),
      own.baton('refs', 'list', '--namespace', 'build'),
    ])
    expect(all.stdout).toBe('build/r      b\nsha256:long  a, b\n')
    expect(JSON.parse(json.stdout)).toEqual([
      { namespace: 'build', resource: 'r', references: ['b'] },
      { namespace: 'default', resource: 'sha256:long', references: ['a', 'b'] },
    ])
    expect(build.stdout).toBe('build/r  b\n')
    await own.stop()
  })

  test('sees one resource or all, for people and for programs', async () => {
    await server.baton('run', 'pull', 'seen', '--node', 'a', '--', 'true')
    await server.baton('run', 'pull', 'seen', '--node', 'a', '--namespace', 'other', '--', 'true')
    expect((await server.baton('status', 'seen')).stdout).toMatch(/^seen\n {2}kept +pull +a /)
    const one = JSON.parse((await server.baton('status', 'seen', '--json')).stdout)
    expect(one).toMatchObject({ namespace: 'default', resource: 'seen', references: ['a'], kept: [{ node: 'a' }] })
    const all = JSON.parse((await server.baton('status', '--json')).stdout)
    expect(all.filter((view: { resource: string }) => view.resource === 'seen')).toHaveLength(2)
    const other = JSON.parse((await server.baton('status', '--json', '--namespace', 'other')).stdout)
    expect(other).toMatchObject([{ namespace: 'other', resource: 'seen' }])
    expect((await server.baton('status', 'never')).stdout).toBe('never\n  idle in the namespace default\n')
  })

  test('watches: a change is told, not asked for', async () => {
    const watch = server.start('status', 'watched', '--json', '--watch')
    await until('the first state is shown', () => watch.stdout() !== '')
    await server.baton('refs', 'add', 'watched', '--node', 'a')
    await until('the change is shown', () => watch.stdout().trimEnd().split('\n').at(-1)?.includes('"a"'))
    watch.kill('SIGTERM')
    expect((await watch.ended).code).toBe(143)
  })

  test('follows events, of all or of one resource', async () => {
    const all = server.start('events')
    const one = server.start('events', '--json', '--resource', 'e1')
    await until('the stream is open', () => one.stdout() !== '')
    await until('events are told', async () => {
      await server.baton('refs', 'add', 'e2', '--node', `n${Math.random()}`)
      return all.stdout() !== ''
    })
    await server.baton('run', 'lock', 'e1', '--node', 'a', '--', 'true')
    await until('the run is seen', () => all.stdout().includes('a ended: released') && one.stdout().includes('"ended"'))
    expect(all.stdout()).toMatch(/lock e1 {2}a has the baton \(fence 1\)/)
    const types = one
      .stdout()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(types.map(({ type }) => type)).toEqual(['state', 'granted', 'ended'])
    for (const events of [all, one]) events.kill('SIGTERM')
    expect([(await all.ended).code, (await one.ended).code]).toEqual([143, 143])
  })

  test.each(['status', 'events', 'policy show'])('%s without a server: 69', async (command) => {
    const { code, stdout, stderr } = await baton([...command.split(' '), '--server', 'http://127.0.0.1:9'])
    expect({ code, stdout }).toEqual({ code: 69, stdout: '' })
    expect(stderr).toContain('127.0.0.1:9')
  })

  test('status says how long a lease is good, who is which in line, and why they wait', async () => {
    const url = `${server.url}/v1/acquire`
    for (const node of ['a', 'b', 'c']) {
      const body = JSON.stringify({ operation: 'lock', resource: 'why', node, ttlMs: 60_000 })
      expect((await fetch(url, { method: 'POST', body })).status).toBeLessThan(300)
    }
    const { stdout } = await server.baton('status', 'why')
    expect(stdout).toMatch(
      /^why\n {2}holds +lock {2}a {2}for \S+ +fence 1, lease (1m|5\d(\.\d)?s)\n {2}waits +lock {2}b {2}for \S+ +1st\n +lock {2}c {2}for \S+ +2nd\n {2}why +lock: held by a for \S+\n$/,
    )
    const json = JSON.parse((await server.baton('status', 'why', '--json')).stdout)
    expect(json).toMatchObject({
      nowMs: expect.any(Number),
      pauses: [],
      grants: [{ expiresAtMs: expect.any(Number) }],
      why: [{ operation: 'lock', waiting: 2, reasons: [{ why: 'held', node: 'a', fence: 1 }] }],
    })
  })

  test('revoking what nobody holds says so', async () => {
    const { code, stderr } = await server.baton('revoke', 'pull', 'nobody')
    expect(code).toBe(1)
    expect(stderr).toContain('Nothing is held there')
  })

  test.each(['check', 'raise-fences', 'create'])('store %s of a memory store: none is needed', async (tool) => {
    const { code, stdout } = await baton(['store', tool, '--store', 'memory:'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('none of it') })
    expect((await baton(['store', tool, '--store', 'redis://x'])).code).toBe(64)
  })
})

describe.concurrent('every command', () => {
  const commands = ['serve', 'run', 'status', 'refs list', 'refs add', 'refs release', 'refs drop-node', 'revoke']
  const more = [
    'events',
    'policy show',
    'policy set',
    'policy apply',
    'store check',
    'store backup',
    'store restore',
    'store raise-fences',
    'store create',
    'demo',
  ]

  test.each([...commands, ...more])('baton %s --help has an example', async (command) => {
    const { code, stdout } = await baton([...command.split(' '), '--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`Example:\n {2}\\$ baton ${command}`))
  })
})

describe('baton demo', () => {
  test('three nodes fetch each layer once, though one of them is killed', async () => {
    const { code, stdout, stderr } = await start(['demo']).ended
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(stdout).toMatch(/node-a {2}waits for layer 1\n/)
    expect(stdout).toMatch(/node-c {2}is killed \(SIGKILL\)\n/)
    expect(stdout).toMatch(/takes over layer 1: node-c expired \(fence 2\)\n/)
    expect(stdout).toContain('Each of the 6 layers was fetched exactly once.')
    expect(stdout.match(/^\d +node-[ab] {2}/gm)).toHaveLength(6)
    expect(stdout).not.toContain('\u001b[')
  })
})
