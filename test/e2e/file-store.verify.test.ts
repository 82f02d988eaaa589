import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAMS } from '@baton-lock/faults/programs'
import { expect, test } from 'vitest'
import { baton, startProgram } from './cli-process.ts'
import { fileStores, post, serve } from './file-server.ts'

const { folder, newDirectory } = fileStores()

const SECONDS = Number(process.env.KILL_RESTART_SECONDS ?? 20)

test(
  `kill -9 at random moments for ${SECONDS} s, under load from 8 clients: every acknowledged change is there`,
  async () => {
    const running = startProgram(process.execPath, [PROGRAMS.killRestart, '--seconds', `${SECONDS}`])
    const { code, stdout, stderr } = await running.ended
    expect(code, stdout + stderr).toBe(0)
    const { kills, fences, outcomes, references } = JSON.parse(stdout.trim().split('\n').at(-1)!)
    expect(kills).toBeGreaterThan(SECONDS / 10)
    expect(Math.min(fences, outcomes, references)).toBeGreaterThan(SECONDS)
  },
  (SECONDS + 120) * 1_000,
)

test('a second server on the same directory is refused with a sentence that names the first', async () => {
  const directory = newDirectory()
  const first = await serve(directory)
  for (const args of [
    ['serve', '--port', '0', '--store', `file:${directory}`],
    ['store', 'check', directory],
  ]) {
    const { code, stderr } = await baton(args)
    expect(stderr).toBe(
      `baton: ${directory} is in use by process ${first.process.pid}; end that one, or choose another directory\n`,
    )
    expect(code).toBe(69)
  }
  await first.kill()
})

test('a damaged directory is refused with its place and what to do, restored, and cleared', async () => {
  const directory = newDirectory()
  const server = await serve(directory)
  for (const resource of ['a', 'b', 'c'])
    await post(server.url, '/v1/acquire', { operation: 'lock', resource, node: 'n' })
  await server.kill()
  expect(await baton(['store', 'check', directory])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/3 grants/),
  })
  const backup = join(folder, 'backup')
  expect(await baton(['store', 'backup', backup, '--store', `file:${directory}`])).toMatchObject({ code: 0 })
  const log = readFileSync(join(directory, 'log-0'))
  log[log.indexOf('"b"')]! ^= 1
  writeFileSync(join(directory, 'log-0'), log)
  const sentence =
    /log-0 in .* is damaged at byte \d+, record 4: .*; restore the last backup with `baton store restore`/
  const refused = await baton(['serve', '--port', '0', '--store', `file:${directory}`])
  expect(refused).toMatchObject({ code: 69, stderr: expect.stringMatching(sentence) })
  expect(await baton(['store', 'check', directory])).toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) })

  const restored = await baton(['store', 'restore', backup, '--store', `file:${directory}`, '--force'])
  expect(restored).toMatchObject({ code: 0, stdout: expect.stringMatching(/was moved to .*\/replaced-/) })
  const second = await serve(directory)
  const kept = await post(second.url, '/v1/acquire', { operation: 'lock', resource: 'b', node: 'm', waitMs: 0 })
  expect(kept.body).toMatchObject({ status: 'refused', code: 'busy' })
  await second.kill()

  rmSync(directory, { recursive: true })
  mkdirSync(directory)
  const cleared = await baton(['store', 'raise-fences', directory])
  expect(cleared).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/is a new, empty store; its fences begin above/),
  })
  const third = await serve(directory)
  const { body } = await post(third.url, '/v1/acquire', { operation: 'lock', resource: 'b', node: 'm' })
  expect(body.fence).toBeGreaterThan(2 ** 32)
  await third.kill()
}, 60_000)
