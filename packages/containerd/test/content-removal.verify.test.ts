// needs: containerd, mergerfs, mount
import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ContentNode } from '@baton-lock/faults/content/content-node'
import type { Image } from '@baton-lock/faults/content/image'
import { readBack } from '@baton-lock/faults/content/pull-round'
import { pauseProcess } from '@baton-lock/test-support/processes'
import { expect, test } from 'vitest'
import { until } from '../../../test/e2e/cli-process.ts'
import { contentStage, MIB, untilTold } from './content-stage.ts'

const stage = contentStage({ names: ['a', 'b', 'c'] })

test('an image that is removed where it was fetched is read and unpacked where it was adopted; removed everywhere, it is gone', async () => {
  const [a, b, c] = nodes()
  const image = await pulledBy('rm', [a, b, c])
  const digests = digestsOf(image)
  expect(a.hostBlobs()).toEqual(expect.arrayContaining(digests))

  await a.containerd.removeImage(image.at(a.door))
  await untilTold(a)
  expect(a.uses()).toEqual([])
  for (const digest of digests) expect(await referencesOf(digest)).toEqual(['b', 'c'])
  await expect(a.containerd.readBlob(image.config.digest)).rejects.toThrow('not found')
  for (const node of [b, c]) {
    await readBack(node.containerd, image)
    await node.containerd.unpackAgain(image.manifest.digest)
  }
  await b.containerd.removeImage(image.at(b.door))
  await readBack(c.containerd, image)

  await c.containerd.removeImage(image.at(c.door))
  await expectGone(digests)
}, 60_000)

test('an image that was removed on a node is pulled there again without a GET, while another one has it', async () => {
  const [a, b] = nodes()
  const image = await pulledBy('again', [a, b])
  await a.containerd.removeImage(image.at(a.door))
  stage.cluster.link.resetGets()
  await a.containerd.pull(image.at(a.door))
  await readBack(a.containerd, image)
  expect(stage.cluster.link.gets).toEqual([])
  await Promise.all([a, b].map((node) => node.containerd.removeImage(image.at(node.door))))
  await expectGone(digestsOf(image))
}, 30_000)

test('a layer that another image of the same node needs stays', async () => {
  const [a, b] = nodes()
  const [base, app] = await Promise.all([
    pulledBy('base', [a], { layers: ['x', 'y'] }),
    pulledBy('app', [a], { layers: ['x', 'y', 'z'] }),
  ])
  await b.containerd.pull(app.at(b.door))
  await a.containerd.removeImage(base.at(a.door))
  await readBack(a.containerd, app)
  await a.containerd.removeImage(app.at(a.door))
  await readBack(b.containerd, app)
  await b.containerd.removeImage(app.at(b.door))
  await expectGone([...digestsOf(base), ...digestsOf(app)])
}, 30_000)

test("containerd's own collection takes nothing that another node uses: prune, a restart, leases", async () => {
  const [a, b] = nodes()
  const image = await pulledBy('collected', [a, b])
  const layers = image.layers.map(({ digest }) => digest)
  await a.containerd.prune()
  await untilTold(a)
  for (const digest of layers) expect(await referencesOf(digest)).toEqual(['b'])
  await readBack(b.containerd, image)

  await a.containerd.removeImage(image.at(a.door))
  await a.containerd.restart()
  await a.containerd.collectGarbage()
  await b.containerd.restart()
  await b.containerd.collectGarbage()
  await Promise.all([a, b].map(untilTold))
  await readBack(b.containerd, image)
  await b.containerd.unpackAgain(image.manifest.digest)
  expect(a.hostBlobs()).toEqual(expect.arrayContaining(layers))

  await b.containerd.removeImage(image.at(b.door))
  await expectGone(digestsOf(image))
}, 60_000)

test('what only others have is shown to no collector: a node that has nothing deletes nothing', async () => {
  const [a, , c] = nodes()
  const image = await pulledBy('others', [a])
  await c.containerd.restart()
  await c.containerd.collectGarbage()
  await untilTold(c)
  await readBack(a.containerd, image)
  await a.containerd.removeImage(image.at(a.door))
  await expectGone(digestsOf(image))
}, 30_000)

test('a node that is killed between its delete and the telling of it tells it when it is back', async () => {
  const { cluster } = stage
  const [a, b] = nodes()
  const image = await pulledBy('untold', [a, b])
  await pauseProcess(cluster.serverPid!)
  try {
    await a.containerd.removeImage(image.at(a.door))
    await a.kill()
  } finally {
    process.kill(cluster.serverPid!, 'SIGCONT')
  }
  await a.revive()
  await untilTold(a)
  for (const digest of digestsOf(image)) expect(await referencesOf(digest)).toEqual(['b'])
  await readBack(b.containerd, image)
  await b.containerd.removeImage(image.at(b.door))
  await expectGone(digestsOf(image))
}, 60_000)

test('a file that a crash has left in a host, and nobody uses, is removed at the next start', async () => {
  const [a, b] = nodes()
  const image = await pulledBy('left', [a])
  const [layer] = image.layers as [Image['layers'][0]]
  // As if it had been killed after the rename and before it was known to use it.
  await b.stopStore()
  const blob = (node: ContentNode) => join(node.root, 'host', 'blobs', 'sha256', layer.digest.slice('sha256:'.length))
  copyFileSync(blob(a), blob(b))
  await a.containerd.removeImage(image.at(a.door))
  await untilTold(a)
  await b.startStore()
  await expectGone(digestsOf(image))
}, 30_000)

test('after all of it no folder has anything left', async () => {
  await Promise.all(nodes().map(untilTold))
  for (const { name, root } of nodes()) {
    const left = [
      'blobs/sha256',
      '.baton/uses',
      '.baton/unconfirmed',
      '.baton/pending',
      '.baton/removed',
      '.baton/ingests',
    ]
    for (const folder of left)
      expect([name, folder, readdirSync(join(root, 'host', folder))]).toEqual([name, folder, []])
  }
  for await (const { resource, references } of stage.baton.list())
    expect([resource, references]).toEqual([resource, []])
})

function nodes() {
  return stage.cluster.nodes as readonly [ContentNode, ContentNode, ContentNode]
}

/** The first of them fetches it, the others adopt it. */
async function pulledBy(
  name: string,
  [first, ...others]: readonly ContentNode[],
  { layers = 2 }: { layers?: number | readonly string[] } = {},
): Promise<Image> {
  const image = await stage.cluster.pushed({ name, layers, layerBytes: MIB / 4 })
  await first!.containerd.pull(image.at(first!.door))
  await stage.cluster.pullAll(image, others)
  return image
}

function digestsOf({ manifest, blobs }: Image): string[] {
  return [manifest, ...blobs].map(({ digest }) => digest)
}

async function referencesOf(digest: string): Promise<string[]> {
  return [...(await stage.baton.references.list(digest))].sort()
}

async function expectGone(digests: readonly string[]): Promise<void> {
  const left = () => nodes().flatMap((node) => node.hostBlobs().filter((digest) => digests.includes(digest)))
  await until('the files are gone from every host', () => left().length === 0)
  for (const digest of digests) expect(await referencesOf(digest)).toEqual([])
}
