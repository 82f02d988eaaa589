import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Running, start, until } from './cli-process.ts'
import { fileStores, serve } from './file-server.ts'

const { folder, newDirectory } = fileStores()

test('a waiting run survives a restart and is granted in its turn; a running one keeps its grant', async () => {
  const directory = newDirectory()
  const first = await serve(directory)
  const out = join(folder, 'order')
  const gate = join(folder, 'gate')
  const run = (name: string, script: string) =>
    start(['run', 'lock', 'r', '--node', name, '--server', first.url, '--ttl', '20s', '--', 'sh', '-c', script])
  const holder = run('holder', `echo holder $BATON_FENCE >> ${out}; while [ ! -e ${gate} ]; do sleep 0.05; done`)
  await until('the holder runs', () => existsSync(out))
  const waiting = () =>
    fetch(`${first.url}/v1/resource?resource=r`).then((each) => each.json()) as Promise<{
      resource: { waiting: number }
    }>
  const waiters: Running[] = []
  for (const name of ['one', 'two']) {
    waiters.push(run(name, `echo ${name} $BATON_FENCE >> ${out}`))
    await until(`${name} waits`, async () => (await waiting()).resource.waiting === waiters.length)
  }

  await first.kill()
  const second = await serve(directory, new URL(first.url).port)
  expect(second.url).toBe(first.url)
  expect((await waiting()).resource).toMatchObject({ grants: [{ node: 'holder', fence: 1 }], waiting: 2 })
  writeFileSync(gate, '')
  for (const each of [holder, ...waiters]) expect(await each.ended).toMatchObject({ code: 0 })
  const runs = readFileSync(out, 'utf8').trim().split('\n')
  expect(runs.map((line) => line.split(' ')[0])).toEqual(['holder', 'one', 'two'])
  const [fence, ...later] = runs.map((line) => Number(line.split(' ')[1]))
  // A killed server may have granted more than its log still says: those who come after it pass over all of that.
  expect(fence).toBe(1)
  expect(later[0]).toBeGreaterThan(65_536)
  expect(later[1]).toBe(later[0]! + 1)
  await second.kill()
}, 60_000)
