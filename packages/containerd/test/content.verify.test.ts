// needs: containerd, mergerfs, mount
import { join } from 'node:path'
import { startContainerd } from '@baton-lock/faults/content/containerd-node'
import { ContentCluster } from '@baton-lock/faults/content/content-cluster'
import { digestOf, type Image } from '@baton-lock/faults/content/image'
import { pullRound, readBack } from '@baton-lock/faults/content/pull-round'
import { expect, test } from 'vitest'
import { MAIN } from '../../../test/e2e/cli-process.ts'
import type { Content, openContent } from '../src/index.ts'
import { contentStage, expectNothingLeft, MIB, newFolder, statusOf } from './content-stage.ts'

const NAMES = ['a', 'b', 'c']
const stage = contentStage({ names: [...NAMES, 'late'], started: NAMES })
let eight: Image

test('three nodes pull eight layers at the same time: one GET a blob, twice with fresh stores; without Baton three', async () => {
  const { cluster } = stage
  eight = await cluster.pushed({ name: 'eight', layers: 8, layerBytes: MIB })
  expect((await pullRound(cluster, eight, NAMES.map(stage.node))).gets).toEqual(getsOfEach(eight, 1))
  const counts = await Promise.all(NAMES.map((name) => statusOf(stage.node(name))))
  const gets = counts.map(({ fetched, saved }) => [fetched.gets, saved.gets])
  // The manifest is one more.
  expect(gets.map(([fetched, saved]) => fetched! + saved!)).toEqual([10, 10, 10])
  expect(gets.reduce((sum, [fetched]) => sum + fetched!, 0)).toBe(10)

  const folder = newFolder()
  const fresh = await ContentCluster.start({ folder, main: MAIN, names: NAMES })
  try {
    await Promise.all([fresh.registry.push(eight), ...fresh.nodes.map((node) => node.start())])
    expect((await pullRound(fresh, eight)).gets).toEqual(getsOfEach(eight, 1))
  } finally {
    await fresh.stop()
  }
  expectNothingLeft(folder)

  cluster.link.resetGets()
  await pullWithoutBaton(eight)
  expect(getsOf(eight)).toEqual(getsOfEach(eight, 3))
}, 90_000)

test('a node that comes later is waited for by a warning, joins the union, and fetches nothing', async () => {
  const { cluster } = stage
  const [a, late] = [stage.node('a'), stage.node('late')]
  expect(a.log()).toContain('the folder of late is not there; it joins the union when it appears')
  expect(await statusOf(a)).toMatchObject({ absentNodes: ['late'] })
  await late.start()
  cluster.link.resetGets()
  await late.containerd.pull(eight.at(late.door))
  await readBack(late.containerd, eight)
  expect(cluster.link.gets).toEqual([])
  expect(late.hostBlobs()).toEqual([])
  expect(await statusOf(late)).toMatchObject({ saved: { gets: 10 }, fetched: { gets: 0 }, absentNodes: [] })

  const image = await cluster.pushed({ name: 'by-late', layers: 1, layerBytes: 1_000 })
  await late.containerd.pull(image.at(late.door))
  cluster.link.resetGets()
  await a.containerd.pull(image.at(a.door))
  await readBack(a.containerd, image)
  expect(cluster.link.gets).toEqual([])
  expect(await statusOf(a)).toMatchObject({ absentNodes: [] })
}, 30_000)

test('an image that is there is pulled again without a GET', async () => {
  const { cluster } = stage
  const b = stage.node('b')
  cluster.link.resetGets()
  await b.containerd.pull(eight.at(b.door))
  expect(cluster.link.gets).toEqual([])
})

test('fifty nodes without containerd ask for one blob: one of them fetches it, and all of them read it', async () => {
  const { cluster } = stage
  const module = new URL('../dist/index.js', import.meta.url).href
  const dist = (await import(module)) as { openContent: typeof openContent }
  const image = await cluster.pushed({ name: 'fifty', layers: 1, layerBytes: MIB })
  const [layer] = image.layers as [Image['layers'][0]]
  const folder = join(stage.folder, 'fifty')
  const names = Array.from({ length: 50 }, (_, place) => `n${place}`)
  const nodes = Object.fromEntries(names.map((name) => [name, { root: join(folder, name) }]))
  const door = await cluster.link.open('fifty')
  cluster.link.resetGets()
  const opened: Content[] = []
  try {
    await Promise.all(
      names.map(async (current_node) => {
        opened.push(await dist.openContent({ current_node, servers: [cluster.serverUrl], nodes }))
      }),
    )
    await Promise.all(
      opened.map(async (content) => {
        await using writer = await content.writer({ digest: layer.digest, size: layer.size })
        if (!writer.isThere) {
          const { body } = await fetch(`http://${door}/v2/fifty/blobs/${layer.digest}`)
          for await (const chunk of body!) await writer.write(chunk)
        }
        await writer.commit()
      }),
    )
    expect(cluster.link.blobGets().total).toBe(1)
    for (const content of opened) {
      const chunks: Uint8Array[] = []
      for await (const chunk of await content.reader(layer.digest)) chunks.push(chunk)
      expect(digestOf(Buffer.concat(chunks))).toBe(layer.digest)
    }
    const statuses = await Promise.all(opened.map((content) => content.status()))
    expect(statuses.reduce((sum, { saved }) => sum + saved.gets, 0)).toBe(49)
    expect((await stage.baton.references.list(layer.digest)).length).toBe(50)
  } finally {
    await Promise.all(opened.map((content) => content.close()))
  }
}, 60_000)

async function pullWithoutBaton(image: Image): Promise<void> {
  const { cluster, folder } = stage
  const plain = await Promise.all(
    NAMES.map(async (each) => {
      const name = `plain-${each}`
      const node = await startContainerd({ folder: join(folder, name), name })
      return { node, door: await cluster.link.open(name) }
    }),
  )
  try {
    await Promise.all(plain.map(({ node, door }) => node.pull(image.at(door))))
  } finally {
    await Promise.all(plain.map(({ node }) => node.stop()))
  }
}

function getsOf(image: Image): Map<string, number> {
  const { byDigest } = stage.cluster.link.blobGets()
  return new Map(image.blobs.map(({ digest }) => [digest, byDigest.get(digest)?.gets ?? 0]))
}

function getsOfEach(image: Image, gets: number): Map<string, number> {
  return new Map(image.blobs.map(({ digest }) => [digest, gets]))
}
