// needs: mount
import { mkdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { run, startProcess } from '@baton-lock/test-support/processes'
import { expect, test } from 'vitest'
import { killRest, until } from './cli-process.ts'
import { fileStores, post, serve } from './file-server.ts'

const { newDirectory } = fileStores()

test('a disk of 8 MB that fills up while it works: 503, then space is freed and it goes on, nothing lost', async () => {
  const directory = newDirectory()
  mkdirSync(directory)
  const mounted = await startProcess('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory]).ended
  if (mounted.code !== 0) throw new Error(`this test mounts a tmpfs, which needs root: ${mounted.stderr}`)
  try {
    const server = await serve(join(directory, 'store'))
    const acknowledged: string[] = []
    const ask = async (resource: string) => {
      const reply = await post(server.url, '/v1/acquire', { operation: 'lock', resource, node: 'n'.repeat(200) })
      if (reply.status === 200) acknowledged.push(resource)
      return reply
    }
    for (let count = 0; count < 20; count++) expect((await ask(`before-${count}`)).status).toBe(200)

    const filler = join(directory, 'filler')
    await startProcess('sh', ['-c', `cat /dev/zero > ${filler}`]).ended
    const refusals = []
    for (let count = 0; refusals.length < 20; count++) {
      if (count > 50_000) throw new Error('the disk never ran full')
      const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => ask(`full-${count}-${index}`)))
      refusals.push(...replies.filter(({ status }) => status !== 200))
    }
    for (const { status, body } of refusals)
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'store-unavailable' })
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503)

    unlinkSync(filler)
    await until('it takes requests again', async () => (await ask('after')).status === 200)
    await server.kill()
    const again = await serve(join(directory, 'store'))
    const held = await heldOn(again.url)
    expect(acknowledged.filter((resource) => !held.has(resource))).toEqual([])
    expect(held.size).toBe(new Set(acknowledged).size)
    await again.kill()
  } finally {
    // Should it fail, a server may still be in there.
    killRest()
    await run('umount', ['--lazy', directory], { timeoutMs: 10_000 })
  }
}, 120_000)

async function heldOn(url: string): Promise<Set<string>> {
  const held = new Set<string>()
  let after = ''
  for (;;) {
    const reply = await fetch(
      `${url}/v1/resources?limit=1000&active=true${after && `&after=${encodeURIComponent(after)}`}`,
    )
    const page = (await reply.json()) as { resources: { resource: string }[]; next?: string }
    for (const { resource } of page.resources) held.add(resource)
    if (page.next === undefined) return held
    after = page.next
  }
}
