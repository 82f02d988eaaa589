import { existsSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { baton, serverOfFile, until } from './cli-process.ts'

const { server, folder } = serverOfFile()

const sh = (script: string) => ['--', 'sh', '-c', script]
/** A command that says that it has begun, then waits for a file to end it. */
const holding = (name: string, end = 'exit 0') =>
  sh(`echo $$ > ${folder.path(name)}; while [ ! -e ${folder.path(`${name}.go`)} ]; do sleep 0.05; done; ${end}`)
const begun = (name: string) => until(`${name} has begun`, () => folder.read(name) !== '')
const waiting = (resource: string, count: number) =>
  until(`${count} wait for ${resource}`, async () => {
    const { stdout } = await server.baton('status', resource, '--json')
    return JSON.parse(stdout).waiting === count
  })

describe('baton run', () => {
  test('of five with the same node and layer one runs and four skip', async () => {
    const script = `echo $BATON_FENCE >> ${folder.path('five')}; sleep 0.5`
    const ends = await Promise.all(
      Array.from({ length: 5 }, () => server.baton('run', 'pull', 'five', '--node', 'n', ...sh(script))),
    )
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
    expect(ends.filter(({ stderr }) => /^skipped: pull five was done by n at /m.test(stderr))).toHaveLength(4)
    expect(folder.read('five')).toMatch(/^\d+\n$/)
  })

  test('the first fails, the second runs', async () => {
    const first = server.start('run', 'pull', 'fails', '--node', 'a', ...holding('fa', 'exit 3'))
    await begun('fa')
    const second = server.start('run', 'pull', 'fails', '--node', 'b', ...sh(`echo b > ${folder.path('fb')}`))
    await waiting('fails', 1)
    expect(folder.read('fb')).toBe('')
    writeFileSync(folder.path('fa.go'), '')
    expect((await first.ended).code).toBe(3)
    expect((await second.ended).code).toBe(0)
    expect(folder.read('fb')).toBe('b\n')
  })

  test('the holder is killed with kill -9: its command is ended, and the next one runs within 4 s', async () => {
    const script = `trap 'echo > ${folder.path('ended')}; exit' TERM; echo > ${folder.path('victim')}; while :; do sleep 0.05; done`
    const victim = server.start('run', 'pull', 'killed', '--node', 'a', '--ttl', '2s', ...sh(script))
    await begun('victim')
    const next = server.start('run', 'pull', 'killed', '--node', 'b', ...sh('exit 0'))
    await waiting('killed', 1)
    victim.kill('SIGKILL')
    const killedAtMs = Date.now()
    const { code, stderr } = await next.ended
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^baton: waiting, next in line: pull killed, held by \S+ \(.*s\)\n$/),
    })
    expect(Date.now() - killedAtMs).toBeLessThan(4_000)
    expect(folder.read('ended')).toBe('\n')
  })

  test('the command sees what it is run for', async () => {
    const script = 'echo $BATON_OPERATION $BATON_RESOURCE $BATON_NODE $BATON_FENCE'
    const { stdout } = await server.baton('run', 'lock', 'seen', '--node', 'node-a', ...sh(script))
    expect(stdout).toBe('lock seen node-a 1\n')
  })

  test('the command sees which attempt it is, and how the one before it ended', async () => {
    const script = 'env | grep -E "^BATON_(ATTEMPT|PREVIOUS|WAITERS)" | sort'
    const first = server.start('run', 'pull', 'again', '--node', 'a', ...holding('again', 'exit 3'))
    await begun('again')
    const second = server.start('run', 'pull', 'again', '--node', 'b', ...sh(script))
    await waiting('again', 1)
    writeFileSync(folder.path('again.go'), '')
    expect((await first.ended).code).toBe(3)
    expect((await second.ended).stdout).toBe(
      'BATON_ATTEMPT=2\nBATON_PREVIOUS_ERROR=exit code 3\nBATON_PREVIOUS_NODE=a\nBATON_PREVIOUS_OUTCOME=failure\n',
    )
    // What a command around it had seen is not its own.
    const env = { BATON_PREVIOUS_NODE: 'x', BATON_PREVIOUS_ERROR: 'x', BATON_WAITERS_FILE: '/x', BATON_ATTEMPT: '9' }
    const own = await baton(['run', 'pull', 'afresh', ...sh(script)], { ...env, BATON_SERVER: server.url })
    expect(own.stdout).toBe('BATON_ATTEMPT=1\n')
  })

  test('two processes with one name are told apart in the status', async () => {
    const first = server.start('lock', 'twins', '--node', 'twin', ...holding('twin'))
    await begun('twin')
    const second = server.start('lock', 'twins', '--node', 'twin', ...sh('exit 0'))
    await waiting('twins', 1)
    const { stdout } = await server.baton('status', 'twins')
    expect(stdout).toMatch(new RegExp(`holds +lock +twin \\(pid ${first.pid} on ${hostname()}\\)`))
    expect(stdout).toMatch(new RegExp(`waits +lock +twin \\(pid ${second.pid} on ${hostname()}\\)`))
    writeFileSync(folder.path('twin.go'), '')
    expect([(await first.ended).code, (await second.ended).code]).toEqual([0, 0])
  })

  test('a delete sees who waits, in a file of its own that goes with it', async () => {
    const out = folder.path('waiters')
    const removal = sh(
      `echo $$ > ${folder.path('gone')}; while [ ! -e ${folder.path('gone.go')} ]; do sleep 0.05; done; ` +
        `ls -l $BATON_WAITERS_FILE; cat $BATON_WAITERS_FILE > ${out}; echo $BATON_WAITERS_FILE`,
    )
    const blocker = server.start('run', 'delete', 'wanted', '--node', 'x', ...holding('blocker', 'exit 1'))
    await begun('blocker')
    const first = server.start('run', 'delete', 'wanted', '--node', 'a', ...removal)
    await waiting('wanted', 1)
    const second = server.start('run', 'delete', 'wanted', '--node', 'b', ...sh('exit 0'))
    await waiting('wanted', 2)
    writeFileSync(folder.path('gone.go'), '')
    writeFileSync(folder.path('blocker.go'), '')
    await blocker.ended
    const { code, stdout } = await first.ended
    await second.ended
    expect(code).toBe(0)
    expect(
      folder
        .read('waiters')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ operation: 'delete', node: 'b', sinceMs: expect.any(Number) }])
    expect(stdout).toMatch(/^-rw-------/)
    expect(existsSync(stdout.trim().split('\n').at(-1)!)).toBe(false)
  })

  test('--no-effect-exit: there was nothing to do, so nothing is kept, and the code is that of the command', async () => {
    const pull = (script: string) =>
      server.baton('run', 'pull', 'nothing', '--node', 'a', '--no-effect-exit', '7', ...sh(script))
    expect((await pull('exit 7')).code).toBe(7)
    const { stdout } = await server.baton('status', 'nothing', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      kept: [],
      references: [],
      recent: [{ outcome: { outcome: 'success', effect: 'none' } }],
    })
    expect((await pull('echo ran')).stdout).toBe('ran\n')
    expect((await pull('echo ran')).stdout).toBe('')
  })

  test('another revision is other work, --force does it again', async () => {
    const pull = (...flags: string[]) => server.baton('run', 'pull', 'rev', '--node', 'a', ...flags, ...sh('echo ran'))
    expect((await server.baton('run', 'update', 'rev', '--revision', '1', ...sh('echo ran'))).stdout).toBe('ran\n')
    expect((await server.baton('run', 'update', 'rev', '--revision', '1', ...sh('echo ran'))).stdout).toBe('')
    expect((await server.baton('run', 'update', 'rev', '--revision', '2', ...sh('echo ran'))).stdout).toBe('ran\n')
    expect((await pull()).stdout).toBe('ran\n')
    expect((await pull()).stdout).toBe('')
    expect((await pull('--force')).stdout).toBe('ran\n')
  })

  test('SIGTERM goes to the command, and its end is reported', async () => {
    const script = `trap 'exit 5' TERM; echo > ${folder.path('term')}; while :; do sleep 0.05; done`
    const run = server.start('run', 'pull', 'term', ...sh(script))
    await begun('term')
    run.kill('SIGTERM')
    expect((await run.ended).code).toBe(5)
    const { stdout } = await server.baton('status', 'term', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      grants: [],
      recent: [{ outcome: { outcome: 'failure', error: 'exit code 5' } }],
    })
  })

  test('a command that a signal ends is reported, and exits as a shell says it', async () => {
    const run = server.start('run', 'pull', 'int', ...holding('int'))
    await begun('int')
    run.kill('SIGINT')
    expect((await run.ended).code).toBe(130)
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s while waiting leaves the line and exits with %d', async (signal, code) => {
    const holder = server.start('run', 'pull', signal, ...holding(`hold-${signal}`))
    await begun(`hold-${signal}`)
    const waiter = server.start('run', 'pull', signal, ...sh(`echo > ${folder.path(`never-${signal}`)}`))
    await waiting(signal, 1)
    waiter.kill(signal)
    expect((await waiter.ended).code).toBe(code)
    await waiting(signal, 0)
    holder.kill('SIGTERM')
    await holder.ended
    expect(folder.read(`never-${signal}`)).toBe('')
  })
})
