import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, unlinkSync } from 'node:fs'
import { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, type Started, startProcess } from '@baton-lock/test-support/processes'
import { afterAll, expect, test, vi } from 'vitest'
import { lockDirectory } from './directory-lock.ts'
import { DirectoryInUse } from './errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'baton-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))
let directories = 0
const newDirectory = () => join(folder, `${++directories}`)

/** Another process that holds the directory in the same way: it listens. */
async function holder(directory: string) {
  mkdirSync(directory, { recursive: true })
  const script = `require('net').createServer().listen(process.argv[1] + '/lock-' + process.pid + '-x', () => console.log('held'))`
  return listening(script, directory)
}

async function listening(script: string, name: string): Promise<Started> {
  const started = startProcess(process.execPath, ['-e', script, name])
  await started.says(/held/)
  return started
}

test('a second process is refused with a sentence that names the first', async () => {
  const directory = newDirectory()
  const first = await holder(directory)
  const error = await lockDirectory(directory).catch((each) => each)
  expect(error).toBeInstanceOf(DirectoryInUse)
  expect(error.message).toBe(
    `${directory} is in use by process ${first.pid}; end that one, or choose another directory`,
  )
  first.kill('SIGSTOP')
  await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse)
  await first.end()
  await (await lockDirectory(directory))()
  expect(readdirSync(directory)).toEqual([])
})

test('it is free again once it is released', async () => {
  const directory = newDirectory()
  const release = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toThrow(`process ${process.pid}`)
  await release()
  await (await lockDirectory(directory))()
})

test.runIf(process.platform === 'linux')('one whose socket was removed by hand keeps the directory', async () => {
  const directory = newDirectory()
  const release = await lockDirectory(directory)
  for (const name of readdirSync(directory)) unlinkSync(join(directory, name))
  await expect(lockDirectory(directory)).rejects.toThrow(`is in use by process ${process.pid};`)
  // Whatever path leads there.
  symlinkSync(directory, `${directory}-too`)
  await expect(lockDirectory(`${directory}-too`)).rejects.toThrow(DirectoryInUse)
  expect(readdirSync(directory)).toEqual([])
  await release()
  await (await lockDirectory(directory))()
})

test.runIf(process.platform === 'linux')('one that is stopped keeps it too, and its death frees it', async () => {
  const directory = newDirectory()
  mkdirSync(directory)
  const { dev, ino } = statSync(directory)
  const script = `require('net').createServer().listen('\\0' + process.argv[1], () => console.log('held'))`
  const first = await listening(script, `baton-file-store-${dev}-${ino}`)
  first.kill('SIGSTOP')
  await expect(lockDirectory(directory)).rejects.toThrow('is in use by another process, which does not answer;')
  await first.end()
  await (await lockDirectory(directory))()
})

test('of many that come at once, one at most gets it', async () => {
  for (let round = 0; round < 5; round++) {
    const directory = newDirectory()
    const tries = await Promise.allSettled(Array.from({ length: 6 }, () => lockDirectory(directory)))
    const held = tries.filter((each) => each.status === 'fulfilled')
    expect(held.length).toBeLessThanOrEqual(1)
    for (const each of held) await each.value()
    await (await lockDirectory(directory))()
  }
})

test('whose socket was taken for a dead one steps back, though the other is gone again', async () => {
  const directory = newDirectory()
  const { listen } = Server.prototype
  // Somebody has knocked after the socket was made and before it was listened to.
  vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (this: Server, path, then) {
    return listen.call(
      this.once('listening', () => unlinkSync(path)),
      path,
      then,
    )
  })
  const release = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse)
  await release()
})

test.runIf(process.platform === 'linux')('a long path is no obstacle', async () => {
  const directory = join(newDirectory(), 'x'.repeat(120), 'y'.repeat(120))
  const release = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUse)
  await release()
  expect(String(await run('ls', [directory], { timeoutMs: 10_000 }))).toBe('')
})
