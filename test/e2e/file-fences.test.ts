import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { baton, troubleIn } from './cli-process.ts'
import { fileStores, post, serve } from './file-server.ts'

const { newDirectory } = fileStores()

let holds = 0

/** Takes a lock and gives it back, so many times; the last fence. */
async function turns(url: string, count: number): Promise<number> {
  let fence = 0
  for (let turn = 0; turn < count; turn++) {
    const asker = { operation: 'lock', resource: 'r', owner: 'a', hold: `${++holds}` }
    const granted = await post(url, '/v1/acquire', { ...asker, node: 'n' })
    expect(granted.body.status).toBe('granted')
    fence = granted.body.fence as number
    await post(url, '/v1/release', { ...asker, fence, outcome: 'success' })
  }
  return fence
}

/** A fifth of what is in it, up to the beginning of a record there, or into it. */
function cut(log: string, where: 'record' | 'write'): void {
  const bytes = readFileSync(log)
  const written = bytes.lastIndexOf('BATN')
  const boundary = bytes.lastIndexOf('BATN', written / 5)
  truncateSync(log, where === 'record' ? boundary : boundary + 20)
}

test.each([
  ['SIGKILL', 'record', /the store was not closed/],
  ['SIGKILL', 'write', /ends in a write that was cut short/],
  ['SIGTERM', 'record', /is not as it was left/],
  ['SIGTERM', 'write', /is not as it was left/],
] as const)(
  'after %s and a log cut within a %s, no fence comes twice, and the log says so',
  async (signal, where, why) => {
    const directory = newDirectory()
    const first = await serve(directory)
    const highest = await turns(first.url, 25)
    first.process.kill(signal)
    await first.process.ended
    cut(join(directory, 'log-0'), where)

    const second = await serve(directory)
    // A lock whose release is lost is still held.
    const reply = await post(second.url, '/v1/acquire', { operation: 'update', resource: 'r', node: 'n' })
    expect(reply.body.fence).toBeGreaterThan(highest)
    expect(troubleIn(second.process.stderr())).toMatchObject([{ why: expect.stringMatching(why), directory }])
    await second.kill()
  },
  60_000,
)

test('a server that was stopped goes on with the next fence, and says nothing', async () => {
  const directory = newDirectory()
  const first = await serve(directory)
  const highest = await turns(first.url, 5)
  first.process.kill('SIGTERM')
  await first.process.ended
  const second = await serve(directory)
  expect(await turns(second.url, 1)).toBe(highest + 1)
  expect(troubleIn(second.process.stderr())).toEqual([])
  await second.kill()
})

test('baton store raise-fences, for a copy that was put back', async () => {
  const directory = newDirectory()
  let server = await serve(directory)
  await turns(server.url, 3)
  const inUse = await baton(['store', 'raise-fences', directory])
  expect(inUse).toMatchObject({ code: 69, stderr: expect.stringMatching(/is in use by process \d+/) })
  server.process.kill('SIGTERM')
  await server.process.ended
  const copy = newDirectory()
  cpSync(directory, copy, { recursive: true })
  server = await serve(directory)
  const highest = await turns(server.url, 25)
  server.process.kill('SIGTERM')
  await server.process.ended
  for (const name of readdirSync(directory)) rmSync(join(directory, name))
  cpSync(copy, directory, { recursive: true })

  for (const by of ['0', '-1', 'many', '1.5', '9007199254740992'])
    expect(await baton(['store', 'raise-fences', directory, '--by', by])).toMatchObject({ code: 64, stdout: '' })
  const tooFar = await baton(['store', 'raise-fences', directory, '--by', '9007199254740991'])
  expect(tooFar).toMatchObject({ code: 69, stderr: expect.stringContaining('choose less with --by') })
  const raised = await baton(['store', 'raise-fences', directory, '--by', '1000'])
  expect(raised).toMatchObject({ code: 0, stderr: '' })
  const [, above] = /^fences of .* go on above (\d+), from the next start on; none above \d+ was known of\n$/.exec(
    raised.stdout,
  )!
  expect(statSync(join(directory, 'fences')).mode & 0o777).toBe(0o600)
  server = await serve(directory)
  const fence = await turns(server.url, 1)
  expect(fence).toBe(Number(above) + 1)
  expect(fence).toBeGreaterThan(highest)
  await server.kill()
}, 60_000)
