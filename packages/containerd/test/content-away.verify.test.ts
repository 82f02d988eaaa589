// needs: containerd, mergerfs, mount
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContentNode } from '@baton-lock/faults/content/content-node'
import type { Image } from '@baton-lock/faults/content/image'
import { readBack } from '@baton-lock/faults/content/pull-round'
import { afterEach, expect, test } from 'vitest'
import { until } from '../../../test/e2e/cli-process.ts'
import { contentStage, MIB, startPulls, statusOf, untilTold } from './content-stage.ts'

const stage = contentStage({ names: ['a', 'b', 'c'] })

afterEach(() => {
  stage.cluster.link.faults.heal()
  stage.cluster.link.resetGets()
})

test('a content store that is stopped in good order in mid-pull lets the next one in at once', async () => {
  const { cluster } = stage
  const image = await pushed('stopped')
  const layer = image.layers[0]!
  const held = cluster.link.faults.hold({ digest: layer.digest, atByte: MIB / 2 })
  const pulls = startPulls(image, cluster.nodes)
  const winner = stage.node(await held.reached)
  await until('two wait', async () => (await stage.baton.waiters(layer.digest)).length === 2)
  await winner.stopStore()
  const startMs = Date.now()
  held.release()
  const others = cluster.nodes.filter((node) => node !== winner)
  await Promise.all(others.map(({ name }) => pulls.get(name)))
  expect(Date.now() - startMs).toBeLessThan(8_000)
  await winner.startStore()
  await pulls.get(winner.name)?.catch(() => {})
  await winner.containerd.pull(image.at(winner.door))
  for (const { containerd } of cluster.nodes) await readBack(containerd, image)
  expect(cluster.link.blobGets().byDigest.get(layer.digest)?.gets).toBe(2)
}, 60_000)

test('without a lock server pulls go on after 5 s, and say so; when it is back, it is told of everything', async () => {
  const { cluster, baton } = stage
  const [before, kept, removed] = await Promise.all([pushed('before'), pushed('kept'), pushed('removed')])
  await cluster.pullAll(before)
  await cluster.killServer()
  const startMs = Date.now()
  await cluster.pullAll(kept)
  const waitedMs = Date.now() - startMs
  expect(waitedMs).toBeGreaterThan(4_500)
  expect(waitedMs).toBeLessThan(15_000)
  // It is known by now: nobody waits those seconds again.
  const againMs = Date.now()
  await cluster.pullAll(removed)
  expect(Date.now() - againMs).toBeLessThan(4_500)
  for (const node of cluster.nodes) {
    expect(await statusOf(node)).toMatchObject({ isCoordinated: false, uncoordinated: 6, pending: 6 })
    expect(unconfirmed(node).length).toBeGreaterThan(0)
    expect(node.log()).toContain('is fetched without asking')
    await node.containerd.removeImage(removed.at(node.door))
    await node.containerd.removeImage(before.at(node.door))
  }
  // Stopped and started while nobody answers: what is to be told outlives it.
  const c = stage.node('c')
  await c.stopStore()
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(`${c.root}/merged`)
  await c.startStore()

  await cluster.startServer()
  for (const node of cluster.nodes) {
    await untilTold(node)
    await until('none of its copies is unconfirmed', () => unconfirmed(node).length === 0)
  }
  for (const { digest } of [kept.manifest, ...kept.blobs]) {
    expect([...(await baton.references.list(digest))].sort()).toEqual(['a', 'b', 'c'])
  }
  for (const { digest } of [removed, before].flatMap(({ manifest, blobs }) => [manifest, ...blobs])) {
    expect(await baton.references.list(digest)).toEqual([])
    for (const node of cluster.nodes) expect(node.hostBlobs()).not.toContain(digest)
  }
  for (const { containerd } of cluster.nodes) await readBack(containerd, kept)
}, 60_000)

function pushed(name: string): Promise<Image> {
  return stage.cluster.pushed({ name, layers: 1, layerBytes: MIB })
}

/** What a node has fetched without a grant, and could not tell yet. */
function unconfirmed({ root }: ContentNode): string[] {
  return readdirSync(join(root, 'host', '.baton', 'unconfirmed'))
}
