import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Dialog } from './dialog.ts'
import { Processes, run, startProcess } from './processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'baton-processes-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sh = (script: string) => ['-c', script] as const

test('what a process prints, and how it ended', async () => {
  const started = startProcess('sh', sh('echo out; echo err >&2; exit 3'))
  expect(await started.ended).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' })
  expect([started.isRunning, await started.exited]).toEqual([false, 3])
})

test('a program that does not exist is an exit code of 127', async () => {
  const { code, stderr } = await startProcess('no-such-program', []).ended
  expect(code).toBe(127)
  expect(stderr).toContain('no-such-program')
})

test('an end is not held up by what the process has left running', async () => {
  const started = startProcess('sh', sh('sleep 60 & echo $!'))
  const { stdout } = await started.ended
  process.kill(Number(stdout), 'SIGKILL')
  expect(await started.exited).toBe(0)
})

test('a line is waited for; a process that ends or is late without it is an error that quotes its stderr', async () => {
  const started = startProcess('sh', sh('sleep 0.1; echo "listening on 80"; sleep 60'))
  expect((await started.says(/listening on (\d+)\n/))[1]).toBe('80')
  await started.end('SIGTERM')
  expect(await started.exited).toBe('SIGTERM')
  await expect(startProcess('sh', sh('echo no >&2; exit 1')).says(/listening/)).rejects.toThrow('ended with 1: no\n')
  const silent = startProcess('sleep', ['60'])
  await expect(silent.says(/listening/, 50)).rejects.toThrow('within 50 ms')
  await silent.end()
})

test('a log has both streams of all starts, and a process sees its own', async () => {
  const log = join(folder, 'log')
  for (const name of ['a', 'b']) {
    const started = startProcess('sh', sh(`echo ${name}; echo ${name} failed >&2`), { log })
    await started.exited
    expect(started.complaint()).toBe(`${name}\n${name} failed\n`)
  }
  expect(readFileSync(log, 'utf8')).toBe('a\na failed\nb\nb failed\n')
})

test('what the shell of the caller says to Baton, etcd or vitest is not for a process', async () => {
  const names = ['BATON_SERVER', 'ETCD_NAME', 'VITEST', 'PORT']
  const before = names.map((name) => [name, process.env[name]] as const)
  for (const name of names) process.env[name] = '1'
  try {
    const { stdout } = await startProcess('env', [], { env: { BATON_NODE: 'a' } }).ended
    expect(stdout.split('\n').filter((line) => /^(BATON|ETCD|VITEST|PORT)/.test(line))).toEqual(['BATON_NODE=a'])
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
})

test('a paused process stands still until it is resumed', async () => {
  const started = startProcess('sh', sh('sleep 0.3; echo done'))
  await started.pause()
  const state = () => /^State:\t(\w)/m.exec(readFileSync(`/proc/${started.pid}/status`, 'utf8'))?.[1]
  expect(state()).toBe('T')
  started.resume()
  expect((await started.ended).stdout).toBe('done\n')
})

test('a process that ignores SIGTERM can be killed; so can a group with all that is in it', async () => {
  const processes = new Processes()
  const deaf = processes.start('sh', sh("trap '' TERM; echo ready; sleep 60"))
  await deaf.says(/ready\n/)
  deaf.kill('SIGTERM')
  const group = processes.start('sh', sh('sleep 60 & echo $!; wait'), { isGroup: true })
  const [, child] = await group.says(/(\d+)\n/)
  processes.killAll()
  expect([await deaf.exited, await group.exited]).toEqual(['SIGKILL', 'SIGKILL'])
  await expect.poll(() => isThere(Number(child))).toBe(false)
})

test('run returns the bytes; it throws for a failure, a program that is too slow, and one that is aborted', async () => {
  expect(await run('printf', ['\\377'], { timeoutMs: 10_000 })).toEqual(Buffer.from([0xff]))
  await expect(run('sh', sh('echo why >&2; exit 2'), { timeoutMs: 10_000 })).rejects.toThrow('exit code 2\nwhy')
  await expect(run('sleep', ['60'], { timeoutMs: 50 })).rejects.toThrow('not done after 50 ms, killed')
  await expect(run('sleep', ['60'], { timeoutMs: 60_000, signal: AbortSignal.timeout(50) })).rejects.toThrow('aborted')
})

test('a dialog: orders in, lines of JSON out, each heard once; an end is an error for whoever still listens', async () => {
  const program = `
    let count = 0
    process.stdin.setEncoding('utf8').on('data', (order) => {
      if (order === 'end\\n') process.exit(1)
      console.log(JSON.stringify({ order: order.trim(), count: ++count }))
    })`
  const dialog = new Dialog(new Processes(), ['-e', program])
  const heard = dialog.hear(({ count }) => count === 2)
  dialog.say('one')
  expect(await dialog.hear(({ order }) => order === 'one')).toEqual({ order: 'one', count: 1 })
  dialog.say('one')
  expect(await heard).toEqual({ order: 'one', count: 2 })
  await expect(dialog.hear(() => true, 50)).rejects.toThrow('nothing heard')
  const never = expect(dialog.hear(() => true)).rejects.toThrow('it ended')
  dialog.say('end')
  await never
})

function isThere(pid: number): boolean {
  try {
    // A zombie waits to be collected: it has ended.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
