// needs: containerd, mergerfs, mount
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { killRest, startProgram } from '../../../test/e2e/cli-process.ts'

/* examples/containerd is run as its page says. */

const SCRIPT = fileURLToPath(new URL('../../../examples/containerd/run.mjs', import.meta.url))
const folders = () => readdirSync('/tmp').filter((name) => /^baton-\w{6}$/.test(name))
const mounts = () => readFileSync('/proc/self/mountinfo', 'utf8').match(/ \/tmp\/baton-\w{6}\/\S+/g) ?? []

afterAll(() => killRest())

test('the example: three GETs of each blob without Baton, one with it, and nothing is left', async () => {
  const before = { folders: folders(), mounts: mounts() }
  const { code, stdout, stderr } = await startProgram(process.execPath, [SCRIPT]).ended
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  const counts = [...stdout.matchAll(/^ {2}(\d+) GETs? of sha256:/gm)].map(([, count]) => Number(count))
  expect(counts).toEqual([...Array(9).fill(3), ...Array(9).fill(1)])
  expect(stdout.match(/^ {2}\d+ GETs of 9 blobs$/gm)).toEqual(['  27 GETs of 9 blobs', '  9 GETs of 9 blobs'])
  const totalOf = (word: string) =>
    [...stdout.matchAll(new RegExp(`^ {2}${word} +(\\d+)`, 'gm'))].reduce((sum, [, count]) => sum + Number(count), 0)
  // The manifest is a blob of the store too, and one of them fetches it.
  expect({ uses: totalOf('uses'), fetched: totalOf('fetched'), saved: totalOf('saved') }).toEqual({
    uses: 30,
    fetched: 10,
    saved: 20,
  })
  const left = [...stdout.matchAll(/^removed on node-\w: (\d+) blobs are left/gm)].map(([, count]) => Number(count))
  expect(left).toEqual([10, 10, 0])
  expect({ folders: folders(), mounts: mounts() }).toEqual(before)
}, 120_000)

test('the example is ended in the middle, and leaves nothing either', async () => {
  const before = { folders: folders(), mounts: mounts() }
  const running = startProgram(process.execPath, [SCRIPT])
  await expect.poll(() => mounts().length, { timeout: 60_000 }).toBeGreaterThan(before.mounts.length)
  running.kill('SIGINT')
  expect((await running.ended).code).toBe(1)
  expect({ folders: folders(), mounts: mounts() }).toEqual(before)
}, 120_000)
