// needs: containerd, mergerfs, mount
import type { Image } from '@baton-lock/faults/content/image'
import { readBack } from '@baton-lock/faults/content/pull-round'
import { expect, test } from 'vitest'
import { until } from '../../../test/e2e/cli-process.ts'
import { contentStage, expectOneGetEach, MIB, saidBy, startPulls } from './content-stage.ts'

/** Of the last two, one is killed beside one of the others: both deaths are noticed after the same ten seconds. */
const stage = contentStage({ names: ['a', 'b', 'c', 'd', 'e'] })
const abc = () => stage.cluster.nodes.slice(0, 3)
const de = () => stage.cluster.nodes.slice(3)

test.concurrent('a node that is killed in the middle of a layer: another one finishes it, and the pulls of the others end well', async ({
  expect,
}) => {
  const { cluster } = stage
  const image = await pushed('killed')
  const layer = image.layers[0]!
  const held = cluster.link.faults.hold({ digest: layer.digest, atByte: MIB / 2 })
  const pulls = startPulls(image, abc())
  const winner = stage.node(await held.reached)
  const others = abc().filter((node) => node !== winner)
  await untilWaiting(layer.digest, 2)
  await winner.kill()
  held.release()
  const killedMs = Date.now()
  await Promise.all(others.map(({ name }) => pulls.get(name)))
  expect(Date.now() - killedMs).toBeLessThan(15_000)
  for (const { containerd } of others) await readBack(containerd, image)
  const gets = getsOf(layer.digest)
  expect(gets).toHaveLength(2)
  await saidBy(stage.node(gets[1]!), new RegExp(`pull ${layer.digest}: attempt 2, after ${winner.name} `))
  await expect(pulls.get(winner.name)).rejects.toThrow()

  await winner.revive()
  await winner.containerd.pull(image.at(winner.door))
  await readBack(winner.containerd, image)
  expect(getsOf(layer.digest)).toEqual(gets)
}, 60_000)

test.concurrent('a content store that is killed in mid-pull and comes back: the pulls end well', async ({ expect }) => {
  const { cluster } = stage
  const image = await pushed('restarted')
  const layer = image.layers[0]!
  const held = cluster.link.faults.hold({ digest: layer.digest, atByte: MIB / 2 })
  const pulls = startPulls(image, de())
  const winner = stage.node(await held.reached)
  const [other] = de().filter((node) => node !== winner)
  await untilWaiting(layer.digest, 1)
  await winner.killStore()
  await winner.startStore()
  held.release()
  await pulls.get(other!.name)
  // Its own client may have given up with its stream, and says so: a second try finds what the other has.
  await pulls.get(winner.name)?.catch(() => {})
  await winner.containerd.pull(image.at(winner.door))
  for (const { containerd } of de()) await readBack(containerd, image)
  expect(getsOf(layer.digest).length).toBeLessThanOrEqual(2)
}, 60_000)

test('a lock server that is killed in mid-pull and comes back: one GET a blob, as if nothing had been', async () => {
  const { cluster } = stage
  const image = await pushed('server')
  const layer = image.layers[0]!
  const held = cluster.link.faults.hold({ digest: layer.digest, atByte: MIB / 2 })
  const pulls = startPulls(image, abc())
  await held.reached
  await untilWaiting(layer.digest, 2)
  await cluster.killServer()
  await cluster.startServer()
  held.release()
  await Promise.all(pulls.values())
  for (const { containerd } of abc()) await readBack(containerd, image)
  expectOneGetEach(cluster, image)
}, 60_000)

test('a connection that is reset for the first node: the next one takes over', async () => {
  const { cluster } = stage
  const image = await pushed('reset')
  const layer = image.layers[0]!
  const held = cluster.link.faults.hold({ digest: layer.digest, atByte: 1_000 })
  cluster.link.faults.cut({ digest: layer.digest, afterBytes: MIB / 2, times: 1, how: 'reset' })
  const pulls = startPulls(image, abc())
  await held.reached
  await untilWaiting(layer.digest, 2)
  held.release()
  const ends = await Promise.allSettled(pulls.values())
  const gets = getsOf(layer.digest)
  expect(gets).toHaveLength(2)
  expect([...pulls.keys()].filter((_, place) => ends[place]!.status === 'rejected')).toEqual([gets[0]])
  expect(gets[1]).not.toBe(gets[0])
  await saidBy(stage.node(gets[1]!), new RegExp(`pull ${layer.digest}: attempt 2, after ${gets[0]} failure `))

  const first = stage.node(gets[0]!)
  await first.containerd.pull(image.at(first.door))
  expect(getsOf(layer.digest)).toEqual(gets)
  for (const { containerd } of abc()) await readBack(containerd, image)
}, 30_000)

test('a corrupted layer is refused by its digest; nobody adopts it, and nothing of it is in any host', async () => {
  const { cluster } = stage
  const image = await pushed('corrupted')
  const layer = image.layers[0]!
  const held = cluster.link.faults.hold({ digest: layer.digest, atByte: 1_000 })
  cluster.link.faults.corrupt({ digest: layer.digest, atByte: 500_000 })
  const pulls = startPulls(image, abc())
  await held.reached
  await untilWaiting(layer.digest, 2)
  held.release()
  const ends = await Promise.allSettled(pulls.values())
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  // Two that have got the same: the third one would, too.
  expect(getsOf(layer.digest)).toHaveLength(2)
  for (const node of abc()) {
    expect(node.hostBlobs()).not.toContain(layer.digest)
    expect(node.uses()).not.toContain(layer.digest)
    expect(await node.containerd.contentList()).not.toContain(layer.digest)
  }
  expect(await stage.baton.references.list(layer.digest)).toEqual([])

  // Nothing bad is left behind: from a registry that is sound again, it is pulled as ever.
  cluster.link.faults.heal()
  await cluster.pullAll(image, abc())
  for (const { containerd } of abc()) await readBack(containerd, image)
  expect(getsOf(layer.digest)).toHaveLength(3)
}, 30_000)

test('a layer that is corrupted on the way to one node does not keep the others from it', async () => {
  const { cluster } = stage
  const image = await pushed('one-bad-way')
  const layer = image.layers[0]!
  cluster.link.faults.corrupt({ digest: layer.digest, atByte: 500_000, times: 1 })
  const pulls = startPulls(image, abc())
  const ends = await Promise.allSettled(pulls.values())
  const [bad] = getsOf(layer.digest)
  expect([...pulls.keys()].filter((_, place) => ends[place]!.status === 'rejected')).toEqual([bad])
}, 30_000)

function pushed(name: string): Promise<Image> {
  return stage.cluster.pushed({ name, layers: 1, layerBytes: MIB })
}

async function untilWaiting(digest: string, count: number): Promise<void> {
  await until(`${count} wait for it`, async () => (await stage.baton.waiters(digest)).length === count)
}

/** Who has fetched it, in their order. */
function getsOf(digest: string): string[] {
  return stage.cluster.link.gets.filter((get) => get.digest === digest).map(({ node }) => node)
}
