// needs: containerd, mergerfs, mount
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { baton, start, until } from '../../../test/e2e/cli-process.ts'
import { contentStage } from './content-stage.ts'

const stage = contentStage({ names: ['a', 'b', 'gone'], started: ['a'], hasContainerd: false })

/** The lines of a file that is right, and the tables of two nodes, `x` and `y`. FOLDER and SERVER are those of the stage. */
const SOUND: Readonly<Record<string, string>> = {
  current_node: '"x"',
  socket_path: '"FOLDER/x.sock"',
  servers: '["SERVER"]',
  x: 'root = "FOLDER/x"',
  y: 'root = "FOLDER/y"',
}

describe('baton content check', () => {
  test('everything is as it should be: 0, a line for each thing that was looked at', async () => {
    const a = stage.node('a')
    const { code, stdout, stderr } = await baton(['content', 'check', '--config', a.config])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`ok      containerd finds it at ${a.socket}`)
    expect(stdout).toContain(`ok      blobs are written to ${a.root}/host`)
    expect(stdout).toContain(`ok      the union is mounted at ${a.root}/merged`)
    expect(stdout).toContain(`ok      the lock answers at ${stage.cluster.serverUrl}`)
    expect(stdout).toMatch(/^warning the folder of gone is not there: \S+; it joins the union when it appears$/m)
  })

  test('it changes nothing: no folder is made, nothing is mounted', async () => {
    const b = stage.node('b')
    await b.configure()
    const { code, stdout } = await baton(['content', 'check', '--config', b.config])
    expect(code).toBe(0)
    expect(stdout).toContain(`the union is going to be mounted at ${b.root}/merged`)
    expect(readdirSync(b.root)).toEqual([basename(b.config)])
  })

  test('no lock server answers: a warning where pulls go on without it, 1 where they do not', async () => {
    const away = { ...SOUND, servers: '["http://127.0.0.1:1"]' }
    const [odd, wrong] = await Promise.all([
      check('away.toml', away),
      check('wait.toml', { ...away, when_unavailable: '"wait"' }),
    ])
    expect(odd.code).toBe(0)
    expect(odd.stdout).toMatch(/^warning the lock at http:\/\/127\.0\.0\.1:1: .*pulls go on without asking$/m)
    expect(wrong.code).toBe(1)
    expect(wrong.stdout).toMatch(/^WRONG {3}the lock at http:\/\/127\.0\.0\.1:1: /m)
  }, 40_000)

  test('mergerfs is not installed: 1, and what to install; to start it fails with the same advice', async () => {
    // Node alone: nothing of /usr/bin.
    const bin = join(stage.folder, 'bin')
    mkdirSync(bin, { recursive: true })
    symlinkSync(process.execPath, join(bin, 'node'))
    const config = write('no-mergerfs.toml', SOUND)
    const checked = await baton(['content', 'check', '--config', config], { PATH: bin })
    expect(checked.code).toBe(1)
    expect(checked.stdout).toContain('WRONG   mergerfs is not installed: `apt-get install mergerfs`')
    const started = await baton(['content', '--config', config], { PATH: bin })
    expect(started.code).toBe(1)
    expect(started.stderr).toMatch(/the union cannot be mounted at \S+: mergerfs is not installed: `apt-get install/)
  })
})

describe('a configuration that cannot be: 64, and what to change', () => {
  test.each<[what: string, change: Record<string, string>, says: RegExp]>([
    ['a node that is not there', { current_node: '"z"' }, /current_node is 'z', and \[nodes\] has x, y; name one of/],
    [
      'no lock server',
      { servers: '' },
      /names no lock server: add servers = \["http:\/\/HOST:8086"\], or nodes\.x\.lock/,
    ],
    ['one root for two', { y: 'root = "FOLDER/x"' }, /x and y have the same root \S+; each needs its own/],
    [
      'a socket path of 108 bytes',
      { socket_path: `"/${'s'.repeat(107)}"` },
      /socket_path: must have 107 bytes at most/,
    ],
    ['a server that is none', { servers: '["ftp://h"]' }, /'ftp:\/\/h' is no lock server; write it like http:/],
    [
      'a token file that is not there',
      { token_file: '"/tmp/nowhere/t"' },
      /cannot read \/tmp\/nowhere\/t \(token_file\)/,
    ],
    ['not TOML', { current_node: '= =' }, /is not TOML: line 1, column \d+: /],
  ])('%s', async (_what, change, says) => {
    const config = write('bad.toml', { ...SOUND, ...change })
    const { code, stderr, stdout } = await baton(['content', 'check', '--config', config])
    expect([code, stdout]).toEqual([64, ''])
    expect(stderr).toMatch(says)
    // One sentence for a person, never a stack.
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('to start it fails with the same sentence', async () => {
    const args = ['--config', write('start.toml', { ...SOUND, servers: '' })]
    const [started, checked] = await Promise.all([baton(['content', ...args]), baton(['content', 'check', ...args])])
    expect(started).toEqual(checked)
    expect(started.code).toBe(64)
  })

  test('no file is named, or there is none', async () => {
    expect(await baton(['content'])).toMatchObject({ code: 64, stderr: expect.stringContaining('--config FILE') })
    const { code, stderr } = await baton(['content', 'check', '--config', '/tmp/nowhere/c.toml'])
    expect([code, stderr]).toEqual([64, expect.stringMatching(/cannot read .*there is no such file; check the path/)])
  })

  test('a key that is not known is a warning', async () => {
    const { code, stdout } = await check('unknown.toml', { ...SOUND, sockets: '1' })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^warning .*'sockets' is not known and does nothing; known are current_node, /m)
  })

  test("the file that users have already is taken as it is: the current node's lock_server counts", async () => {
    const x = `root = "FOLDER/x"\nlock_server = "${stage.cluster.serverUrl.replace('http://', '')}"\nip = "10.0.0.1"`
    const { code, stdout } = await check('users.toml', { ...SOUND, servers: '', x })
    expect(code).toBe(0)
    expect(stdout).toContain(`ok      the lock answers at ${stage.cluster.serverUrl}`)
  })
})

describe('one process a node', () => {
  test('a second one is refused, by its folder and by its socket, and the first one goes on', async () => {
    const a = stage.node('a')
    const second = await baton(['content', '--config', a.config])
    expect(second.code).toBe(64)
    expect(second.stderr).toMatch(/\/a\/host is in use by another process of a; end that one first/)
    const stolen = await baton([
      'content',
      '--config',
      write('stolen.toml', { ...SOUND, socket_path: `"${a.socket}"` }),
    ])
    expect(stolen.code).toBe(64)
    expect(stolen.stderr).toMatch(/another process listens on \S+s\.sock; end that one, or name another socket_path/)
    expect(await a.status()).toMatchObject({ isCoordinated: true })
  })

  test('status of a node that does not run: 69; of one that does, for people', async () => {
    const b = stage.node('b')
    await b.configure()
    const { code, stderr } = await baton(['content', 'status', '--config', b.config])
    expect([code, stderr]).toEqual([69, expect.stringMatching(/nobody answers on \S+; start it with `baton content/)])
    const running = await baton(['content', 'status', '--config', stage.node('a').config])
    expect(running.code).toBe(0)
    expect(running.stdout).toMatch(/^a\n {2}lock +answers\n/)
    expect(running.stdout).toMatch(/absent +the folders of b, gone are not there/)
  })

  test('it ends by SIGTERM with 0, and leaves no mount', async () => {
    const config = write('ended.toml', SOUND)
    const running = start(['content', '--config', config])
    await until('it listens', () => running.stdout().includes(`baton content listening on ${stage.folder}/x.sock\n`))
    expect(mounts()).toContain(`${stage.folder}/x/merged`)
    running.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
    expect(mounts()).not.toContain(`${stage.folder}/x/merged`)
  })
})

function write(name: string, settings: Readonly<Record<string, string>>): string {
  const { x, y, ...top } = settings
  const lines = Object.entries(top).map(([key, value]) => (value === '' ? '' : `${key} = ${value}`))
  const text = [...lines, '[nodes.x]', x, '[nodes.y]', y, ''].join('\n')
  const path = join(stage.folder, name)
  writeFileSync(path, text.replaceAll('FOLDER', stage.folder).replaceAll('SERVER', stage.cluster.serverUrl))
  return path
}

function check(name: string, settings: Readonly<Record<string, string>>) {
  return baton(['content', 'check', '--config', write(name, settings)])
}

function mounts(): string {
  return readFileSync('/proc/self/mountinfo', 'utf8')
}
