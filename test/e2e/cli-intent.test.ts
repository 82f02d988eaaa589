import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { serverOfFile, until } from './cli-process.ts'

const { server, folder } = serverOfFile()

const sh = (script: string) => ['--', 'sh', '-c', script]
const lines = (name: string) => folder.read(name).split('\n').filter(Boolean)
const begun = (name: string) => until(`${name} has begun`, () => folder.read(name) !== '')

describe.concurrent('by intent', () => {
  test('lock: three run one after another, none beside another, and a failure is a normal end', async () => {
    const script = `echo in >> ${folder.path('lock')}; sleep 0.2; echo out >> ${folder.path('lock')}; exit 3`
    const ends = await Promise.all(
      ['a', 'b', 'c'].map((node) => server.baton('lock', 'l', '--node', node, ...sh(script))),
    )
    expect(ends.map(({ code }) => code)).toEqual([3, 3, 3])
    expect(lines('lock')).toEqual(['in', 'out', 'in', 'out', 'in', 'out'])
    const { stdout } = await server.baton('status', 'l', '--json')
    expect(JSON.parse(stdout).recent).toMatchObject([{ outcome: { outcome: 'success' } }])
  })

  test('once: one of three runs it; again after --per, or when it is forgotten; another revision is other work', async () => {
    const once = (node: string, ...flags: string[]) =>
      server.baton(
        'once',
        'nightly',
        '--per',
        '2s',
        '--node',
        node,
        ...flags,
        ...sh(`echo ran >> ${folder.path('once')}`),
      )
    const day = async (...flags: string[]) => {
      const ends = await Promise.all(['a', 'b', 'c'].map((node) => once(node, ...flags)))
      expect(ends.map(({ code }) => code)).toEqual([0, 0, 0])
      expect(ends.filter(({ stderr }) => /^skipped: once nightly was done by [abc] at /m.test(stderr))).toHaveLength(2)
    }
    await day()
    expect(lines('once')).toHaveLength(1)
    await until('the success is no longer kept', async () => {
      const { stdout } = await server.baton('status', 'nightly', '--json')
      return JSON.parse(stdout).kept.length === 0
    })
    await day()
    expect(lines('once')).toHaveLength(2)
    expect(await server.baton('forget', 'nightly')).toMatchObject({ code: 0, stdout: 'forgot once nightly\n' })
    expect(await server.baton('forget', 'nightly')).toMatchObject({ stdout: 'nothing was kept of once nightly\n' })
    await day('--revision', 'v2')
    expect(lines('once')).toHaveLength(3)
  })

  test('forget: where another operation is kept, it names the flag for it', async () => {
    await server.baton('run', 'pull', 'layer', '--node', 'a', ...sh('exit 0'))
    expect(await server.baton('forget', 'layer')).toMatchObject({
      code: 0,
      stdout: 'nothing was kept of once layer\n',
      stderr: 'baton: pull is kept: --operation pull forgets it\n',
    })
    expect(await server.baton('forget', 'layer', '--operation', 'pull')).toMatchObject({
      stdout: 'forgot pull layer\n',
      stderr: 'baton: 1 node references layer: a pull is still skipped\n',
    })
    expect((await server.baton('forget', 'layer')).stderr).toBe('')
  })

  test('once: without --per it is done again by whoever comes later', async () => {
    const once = () => server.baton('once', 'later', ...sh(`echo ran >> ${folder.path('later')}`))
    await once()
    await once()
    expect(lines('later')).toHaveLength(2)
  })

  test('lead: one runs, the next takes over when it ends, and each exits as its command does', async () => {
    const script = (name: string, code: number) =>
      sh(`echo $BATON_NODE $BATON_FENCE >> ${folder.path('lead')}
          trap 'exit ${code}' TERM; while [ ! -e ${folder.path(`${name}.go`)} ]; do sleep 0.05; done; exit ${code}`)
    const a = server.start('lead', 'boss', '--node', 'a', ...script('a', 4))
    await begun('lead')
    const b = server.start('lead', 'boss', '--node', 'b', ...script('b', 5))
    await until('b stands by', () =>
      /^baton: waiting, next in line: lead boss, held by \S+ \(.*s\)\n$/.test(b.stderr()),
    )
    const c = server.start('lead', 'boss', '--node', 'c', ...script('c', 6))
    await until('c stands by', () => c.stderr() !== '')
    writeFileSync(folder.path('a.go'), '')
    expect((await a.ended).code).toBe(4)
    await until('b leads', () => lines('lead').length === 2)
    b.kill('SIGTERM')
    expect((await b.ended).code).toBe(5)
    await until('c leads', () => lines('lead').length === 3)
    // One that has lost ends its command and stands by again.
    expect((await server.baton('revoke', 'lead', 'boss')).code).toBe(0)
    await until('c leads again', () => lines('lead').length === 4)
    c.kill('SIGTERM')
    expect((await c.ended).code).toBe(6)
    expect(lines('lead')).toEqual(['a 1', 'b 2', 'c 3', 'c 4'])
  })

  test('lead: a standby that is asked to end leaves the line', async () => {
    const a = server.start('lead', 'standby', '--node', 'a', ...sh(`echo > ${folder.path('standby')}; sleep 60`))
    await begun('standby')
    const b = server.start('lead', 'standby', '--node', 'b', ...sh('exit 0'))
    await until('b stands by', () => b.stderr() !== '')
    b.kill('SIGTERM')
    expect((await b.ended).code).toBe(143)
    a.kill('SIGTERM')
    expect((await a.ended).code).toBe(143)
  })

  test('lead: one that has lost and stands by again is a standby like any other', async () => {
    const leads = (node: string) =>
      sh(`trap 'exit 7' TERM; echo ${node} >> ${folder.path('again')}; while :; do sleep 0.05; done`)
    const a = server.start('lead', 'again', '--node', 'a', ...leads('a'))
    await begun('again')
    const b = server.start('lead', 'again', '--node', 'b', ...leads('b'))
    await until('b stands by', () => b.stderr() !== '')
    await server.baton('revoke', 'lead', 'again')
    await until('a stands by again', () => /stands again\n(.*\n)*baton: waiting/.test(a.stderr()))
    a.kill('SIGTERM')
    expect((await a.ended).code).toBe(143)
    await until('b leads', () => lines('again').includes('b'))
    b.kill('SIGTERM')
    expect((await b.ended).code).toBe(7)
  })

  test('every signal that can be passed on is', async () => {
    const signals = ['USR1', 'USR2', 'QUIT', 'HUP', 'WINCH', 'INT', 'ALRM', 'CONT'] as const
    const traps = signals.map((name) => `trap 'echo ${name} >> ${folder.path('signals')}' ${name}`).join('; ')
    const script = `${traps}; trap 'exit 0' TERM; echo begun >> ${folder.path('signals')}; while :; do sleep 0.02; done`
    const run = server.start('lock', 'signals', ...sh(script))
    await begun('signals')
    for (const name of signals) {
      run.kill(`SIG${name}`)
      await until(`it has heard ${name}`, () => lines('signals').at(-1) === name)
    }
    run.kill('SIGTERM')
    expect((await run.ended).code).toBe(0)
    expect(lines('signals')).toEqual(['begun', ...signals])
  })
})
