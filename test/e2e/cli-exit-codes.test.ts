import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { baton, serverOfFile, startServer, until } from './cli-process.ts'

/** The exit codes of design.md, one by one. */

const { server, folder } = serverOfFile()

const sh = (script: string) => ['--', 'sh', '-c', script]
const begun = (name: string) => until(`${name} has begun`, () => folder.read(name) !== '')

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Somebody holds the resource until the work is done. */
async function whileHeld<T>(resource: string, work: () => Promise<T>): Promise<T> {
  const script = `echo > ${folder.path(`held-${resource}`)}; sleep 60`
  const holder = server.start('run', 'pull', resource, '--node', 'holder', ...sh(script))
  await begun(`held-${resource}`)
  const result = await work()
  holder.kill('SIGTERM')
  await holder.ended
  return result
}

// Each has resources of its own, and most of the time goes into starting processes.
describe.concurrent('baton run exits', () => {
  test.each([
    [['exit 0'], 0],
    [['exit 7'], 7],
    [['exit 255'], 255],
    [['kill -9 $$'], 137],
  ])("with the command's own code: %s", async ([script = ''], code) => {
    expect(await server.baton('run', 'lock', `own-${code}`, ...sh(script))).toEqual({ code, stdout: '', stderr: '' })
  })

  test('127 where there is no such command, and the failure is reported', async () => {
    const { code, stderr } = await server.baton('run', 'pull', 'missing', '--', 'no-such-command-here')
    expect({ code, stderr }).toEqual({ code: 127, stderr: 'baton: no-such-command-here: command not found\n' })
    const { stdout } = await server.baton('status', 'missing', '--json')
    expect(JSON.parse(stdout).recent[0].outcome).toMatchObject({ outcome: 'failure' })
  })

  test('0 when skipped, or as --skip-exit says', async () => {
    await server.baton('run', 'pull', 'skip', ...sh('exit 0'))
    const skipped = await server.baton('run', 'pull', 'skip', ...sh('exit 1'))
    expect(skipped.code).toBe(0)
    expect(skipped.stderr).toMatch(/^skipped: .+\n$/)
    expect((await server.baton('run', 'pull', 'skip', '--skip-exit', '42', ...sh('exit 1'))).code).toBe(42)
  })

  test.each([
    ['no arguments at all', ['run']],
    ['no command', ['run', 'pull', 'x']],
    ['an unknown flag', ['run', 'pull', 'x', '--nod', 'a', ...sh('')]],
    ['a bad duration', ['run', 'pull', 'x', '--wait', 'soon', ...sh('')]],
    ['a ttl out of range', ['run', 'pull', 'x', '--ttl', '1ms', ...sh('')]],
    ['a bad exit code', ['run', 'pull', 'x', '--skip-exit', '300', ...sh('')]],
    [
      'one exit code for a failure and for nothing to do',
      ['run', 'pull', 'x', '--permanent-exit', '7', '--no-effect-exit', '7', ...sh('')],
    ],
    ['an operation that the table does not have', ['run', 'fly', 'x', ...sh('')]],
    ['an id with a newline', ['run', 'pull', 'x\ny', ...sh('')]],
    ['a server that is no URL', ['run', 'pull', 'x', '--server', 'localhost', ...sh('')]],
    ['both a server and a store', ['run', 'pull', 'x', '--server', 'http://a', '--store', 'memory:', ...sh('')]],
    ['an unknown command', ['rum']],
    ['no command at all', []],
  ])('64 on %s, with a sentence', async (_what, args) => {
    const { code, stdout, stderr } = await server.baton(...args)
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).not.toBe('')
    expect(stderr).not.toMatch(/ at .*\.js/)
  })

  test('65 to a waiter when the holder fails for good, the code of --permanent-exit to the holder', async () => {
    const script = `echo > ${folder.path('permanent')}; while [ ! -e ${folder.path('end')} ]; do sleep 0.05; done; exit 9`
    const holder = server.start('run', 'pull', 'permanent', '--node', 'a', '--permanent-exit', '9', ...sh(script))
    await begun('permanent')
    const waiter = server.start('run', 'pull', 'permanent', '--node', 'b', ...sh('exit 0'))
    await until('it waits', async () => (await server.baton('status', 'permanent')).stdout.includes('waits'))
    writeFileSync(folder.path('end'), '')
    expect((await holder.ended).code).toBe(9)
    const { code, stderr } = await waiter.ended
    expect({ code, stderr }).toEqual({ code: 65, stderr: expect.stringContaining('a failed for good: exit code 9') })
  })

  test('69 where no server answers', async () => {
    const { code, stderr } = await baton(['run', 'pull', 'x', '--server', 'http://127.0.0.1:9', ...sh('')])
    expect(code).toBe(69)
    expect(stderr).toContain('127.0.0.1:9')
  })

  test('with the command’s own code where no server answers and it runs anyway', async () => {
    const args = ['run', 'pull', 'x', '--server', 'http://127.0.0.1:9', '--unavailable', 'run']
    const { code, stdout } = await baton([...args, ...sh('echo $BATON_FENCE; exit 4')])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '0\n' })
  })

  test('70 when the grant is lost: the command gets SIGTERM', async () => {
    const script = `trap 'echo ended > ${folder.path('lost')}; exit 0' TERM; echo > ${folder.path('losing')}; while :; do sleep 0.05; done`
    const run = server.start('run', 'pull', 'lost', '--node', 'a', ...sh(script))
    await begun('losing')
    const revoked = await server.baton('revoke', 'pull', 'lost')
    expect(revoked).toMatchObject({ code: 0, stdout: 'revoked pull lost from a (fence 1)\n' })
    const { code, stderr } = await run.ended
    expect(code).toBe(70)
    expect(stderr).toMatch(/^baton: .*lost.*\n$/m)
    expect(folder.read('lost')).toBe('ended\n')
  })

  test('70 when the grant is lost: a command that does not hear gets SIGKILL', async () => {
    const script = `trap '' TERM; echo $$ > ${folder.path('deaf')}; while :; do sleep 0.05; done`
    const run = server.start('run', 'pull', 'deaf', ...sh(script))
    await begun('deaf')
    await server.baton('revoke', 'pull', 'deaf')
    expect((await run.ended).code).toBe(70)
    expect(isAlive(Number(folder.read('deaf')))).toBe(false)
  })

  test('70 when the grant is lost: what the command has left behind ends too', async () => {
    const deaf = `sh -c "trap '' TERM; echo \\$\\$ > ${folder.path('child')}; while :; do sleep 0.05; done"`
    const run = server.start('run', 'pull', 'left', ...sh(`${deaf} & trap 'exit 0' TERM; wait`))
    await begun('child')
    await server.baton('revoke', 'pull', 'left')
    expect((await run.ended).code).toBe(70)
    const child = Number(folder.read('child'))
    await until('it has ended', () => !isAlive(child))
  })

  test('73 where nodes still use it', async () => {
    await server.baton('refs', 'add', 'used', '--node', 'other')
    const { code, stderr } = await server.baton('run', 'delete', 'used', '--node', 'me', ...sh(''))
    expect(code).toBe(73)
    expect(stderr).toBe(
      'baton: delete used: other nodes use it, `baton refs list used` shows them; ' +
        'the reference of this node, if it had one, was dropped\n',
    )
  })

  test('who still uses it is shown by the very command that the refusal names, in its namespace', async () => {
    const inContent = ['--namespace', 'content'] as const
    await server.baton('refs', 'add', 'used', '--node', 'other', ...inContent)
    const { stderr } = await server.baton('run', 'delete', 'used', '--node', 'me', ...inContent, ...sh(''))
    const named = /`baton ([^`]*)` shows them/.exec(stderr)?.[1]?.split(' ') ?? []
    expect(await server.baton(...named)).toMatchObject({ code: 0, stdout: 'other\n' })
    const elsewhere = await server.baton('refs', 'list', 'used', '--namespace', 'else')
    expect(elsewhere).toMatchObject({ stdout: '', stderr: 'baton: no node uses used in the namespace else\n' })
  })

  test.each(['lock', 'once', 'run pull'])(
    '124 where the command of %s has run for too long, and it has failed',
    async (call) => {
      const { code, stderr } = await server.baton(...call.split(' '), 'slow', '--max-hold', '300ms', ...sh('sleep 60'))
      expect({ code, stderr }).toEqual({
        code: 124,
        stderr: expect.stringMatching(/^baton: (lock|once|pull) slow: held for longer than its limit of 300ms$/m),
      })
      expect((await server.baton('status', 'slow')).stdout).toContain('held for longer than its limit')
    },
  )

  test('75 where it is busy and it does not want to wait, or not any longer', async () => {
    await whileHeld('busy', async () => {
      const ask = (...flags: string[]) => server.baton('run', 'pull', 'busy', ...flags, ...sh(''))
      expect((await ask('--no-queue')).code).toBe(75)
      const late = await ask('--wait', '300ms')
      expect(late.code).toBe(75)
      expect(late.stderr).toMatch(
        /^baton: pull busy: still held by \S+ \([\d.]+m?s\) after waiting \d+ms; next in line$/m,
      )
      const now = await ask('--wait', '0')
      expect(now.code).toBe(75)
      expect(now.stderr).toMatch(/^baton: pull busy: held by \S+ \([\d.]+m?s\), and this request does not wait$/m)
    })
  })

  test('75 on a server without queueing', async () => {
    const single = await startServer([], { ALLOW_MULTI_NODE_DOWNLOAD: 'false' })
    const holder = single.start('run', 'pull', 'x', ...sh(`echo > ${folder.path('single')}; sleep 60`))
    await begun('single')
    expect((await single.baton('run', 'pull', 'x', ...sh(''))).code).toBe(75)
    holder.kill('SIGTERM')
    await holder.ended
    await single.stop()
  })

  test('77 without a token that allows it', async () => {
    const sha256 = createHash('sha256').update('secret').digest('hex')
    writeFileSync(folder.path('tokens.toml'), `[[tokens]]\nsha256 = "${sha256}"\nrole = "node"\nnodes = ["node-a"]\n`)
    const guarded = await startServer(['--tokens', folder.path('tokens.toml')])
    const ask = (...flags: string[]) => guarded.baton('run', 'pull', 'x', ...flags, ...sh('echo ran'))
    expect((await ask('--node', 'node-a')).code).toBe(77)
    expect((await ask('--node', 'node-a', '--token', 'wrong')).code).toBe(77)
    expect((await ask('--node', 'node-b', '--token', 'secret')).code).toBe(77)
    expect(await ask('--node', 'node-a', '--token', 'secret')).toMatchObject({ code: 0, stdout: 'ran\n' })
    await guarded.stop()
  })
})
