// needs: containerd, mount
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ContainerdNode, startContainerd } from './containerd-node.ts'
import { digestOf, type Image, makeImage } from './image.ts'
import { type Registry, startRegistry } from './registry.ts'
import { RegistryLink } from './registry-link.ts'

const MIB = 1 << 20
const NAMES = ['one', 'two', 'three']

let folder: string
let registry: Registry
let link: RegistryLink
let nodes: ContainerdNode[]
/** Each node's way to the registry, in the order of the nodes. */
let doors: string[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-content-'))
  registry = await startRegistry({ folder: join(folder, 'registry') })
  link = new RegistryLink({ registry: registry.address })
  doors = await Promise.all(NAMES.map((name) => link.open(name)))
  nodes = await Promise.all(NAMES.map((name) => startContainerd({ folder: join(folder, name), name })))
})

afterEach(() => {
  link.faults.heal()
  link.resetGets()
  registry.resetGets()
})

afterAll(async () => {
  const pids = nodes.map(({ pid }) => pid)
  await Promise.all([link.close(), registry.stop(), ...nodes.map((node) => node.stop())])
  // What stops leaves nothing, so that the folder is empty.
  await rmdir(folder)
  expect(pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(folder)
})

describe('nodes and a registry', () => {
  test('three nodes that do not know of each other fetch every blob three times, and unpack the image', async () => {
    const image = await pushed({ name: 'alike', layers: 8 })
    await Promise.all(nodes.map((node, place) => node.pull(image.at(doors[place]!), { timeoutMs: 20_000 })))

    const thrice = new Map(image.blobs.map(({ digest, size }) => [digest, { gets: 3, bytes: 3 * size }]))
    expect(link.blobGets().byDigest).toEqual(thrice)
    expect((await registry.loggedGets({ atLeast: 27 })).byDigest).toEqual(thrice)
    expect(NAMES.map((node) => link.blobGets({ node }).total)).toEqual([9, 9, 9])
    for (const [place, node] of nodes.entries()) {
      expect(await node.images()).toEqual([image.at(doors[place]!)])
      expect(await node.snapshots()).toHaveLength(8)
      await expectWhole(node, image)
    }
  })

  test('layers of the same seed are the same blob, in whatever image', async () => {
    const [base, app] = [
      makeImage({ name: 'base', tag: '1', layers: ['a', 'b'], layerBytes: 1_000, seed: '' }),
      makeImage({ name: 'app', tag: '1', layers: ['a', 'b', 'c'], layerBytes: 1_000, seed: '' }),
    ]
    expect(app.layers.slice(0, 2)).toEqual(base.layers)
    expect(app.layers[2]!.digest).toBe(digestOf(app.layers[2]!.bytes))
    expect(app.config.digest).not.toBe(base.config.digest)
  })

  test('an image that is removed takes its blobs along, and pruning takes the layers of one that is unpacked', async () => {
    const [node] = nodes as [ContainerdNode]
    const [kept, removed] = [await pushed({ name: 'kept', layers: 1 }), await pushed({ name: 'removed', layers: 1 })]
    await node.pull(kept.at(doors[0]!))
    await node.fetch(removed.at(doors[0]!))
    await expectWhole(node, removed)

    await node.removeImage(removed.at(doors[0]!))
    await node.prune()
    const left = await node.contentList()
    expect(left).toContain(kept.config.digest)
    for (const { digest } of [...removed.blobs, ...kept.layers]) expect(left).not.toContain(digest)
  })

  test('what a killed pull leaves is held by its lease, until that is dropped', async () => {
    const [node] = nodes as [ContainerdNode]
    const image = await pushed({ name: 'killed', layers: 1 })
    const held = link.faults.hold({ digest: image.layers[0]!.digest, atByte: 1_000 })
    const given = new AbortController()
    const ended = expect(node.pull(image.at(doors[0]!), { signal: given.signal })).rejects.toThrow('aborted, killed')
    await held.reached
    given.abort()
    await ended
    await node.collectGarbage()
    expect(await node.contentList()).toContain(image.manifest.digest)
    await node.dropLeases()
    expect(await node.contentList()).not.toContain(image.manifest.digest)
  })

  test('a node with a content store of another process has no other, even while that is away', async () => {
    const image = await pushed({ name: 'away', layers: 1 })
    const [name, contentSocket] = ['away', join(folder, 'nobody.sock')]
    const node = await startContainerd({ folder: join(folder, name), name, contentSocket })
    try {
      await expect(node.pull(image.at(doors[0]!), { timeoutMs: 1_000 })).rejects.toThrow('not done after 1000 ms')
      expect(link.gets).toEqual([])
    } finally {
      await node.stop()
    }
  })

  test('an image is unpacked again, and its layers are read for it', async () => {
    const [, , node] = nodes as [ContainerdNode, ContainerdNode, ContainerdNode]
    const image = await pushed({ name: 'again', layers: 2 })
    await node.pull(image.at(doors[2]!))
    const before = await node.snapshots()
    const { appliedMs } = await node.unpackAgain(image.manifest.digest)
    expect(appliedMs).toBeGreaterThan(0)
    expect(before).toEqual(expect.arrayContaining(await node.snapshots()))
    expect(await node.snapshots()).toHaveLength(2)
  })

  test('a node that is killed comes back with what it had', async () => {
    const [, node] = nodes as [ContainerdNode, ContainerdNode]
    const image = await pushed({ name: 'kept', layers: 1 })
    await node.pull(image.at(doors[1]!))
    await node.kill()
    await expect(node.images()).rejects.toThrow(/connection refused|no such file/)
    await node.restart()
    expect(await node.images()).toContain(image.at(doors[1]!))
    await expectWhole(node, image)
  })
})

describe('faults', () => {
  test('a fetch that is cut goes on from there, as often as it was cut', async () => {
    const { node, image, layer, reference } = await layerOf('cut')
    link.faults.cut({ digest: layer.digest, afterBytes: 100_000, times: 2 })
    await node.fetch(reference)
    const gets = link.gets.filter(({ digest }) => digest === layer.digest)
    expect(gets.map(({ status, startByte, bytes }) => [status, startByte, bytes])).toEqual([
      [200, 0, 100_000],
      [206, 100_000, 100_000],
      [206, 200_000, layer.size - 200_000],
    ])
    await expectWhole(node, image)
  })

  test('a connection that is reset fails the fetch', async () => {
    const { node, layer, reference } = await layerOf('reset')
    link.faults.cut({ digest: layer.digest, afterBytes: 100_000, times: 1, how: 'reset' })
    await expect(node.fetch(reference)).rejects.toThrow('connection reset by peer')
    await node.fetch(reference)
  })

  test('a byte that is changed fails the fetch, of the node that it is meant for', async () => {
    const { node, image, layer, reference } = await layerOf('corrupt')
    link.faults.corrupt({ digest: layer.digest, atByte: 500_000, node: node.name })
    await expect(node.fetch(reference)).rejects.toThrow('unexpected commit digest')
    await nodes[1]!.fetch(image.at(doors[1]!))
    await expectWhole(nodes[1]!, image)
  })

  test('a body is held until it is released; a fetch that is ended meanwhile is gone', async () => {
    const { node, image, layer, reference } = await layerOf('hold')
    const held = link.faults.hold({ digest: layer.digest, atByte: 300_000 })
    const given = new AbortController()
    const ended = expect(node.fetch(reference, { signal: given.signal })).rejects.toThrow('aborted')
    expect(await held.reached).toBe(node.name)
    given.abort()
    await ended
    expect(link.blobGets().byDigest.get(layer.digest)).toEqual({ gets: 1, bytes: 300_000 })

    const fetched = node.fetch(reference)
    held.release()
    await fetched
    await expectWhole(node, image)
  })

  test('a throttled body takes its time', async () => {
    const { node, reference } = await layerOf('throttle')
    link.faults.throttle(2 * MIB)
    const startMs = Date.now()
    await node.fetch(reference)
    expect(Date.now() - startMs).toBeGreaterThan(450)
  })
})

async function layerOf(name: string) {
  const image = await pushed({ name, layers: 1 })
  return { node: nodes[0]!, image, layer: image.layers[0]!, reference: image.at(doors[0]!) }
}

async function pushed({ name, layers }: { readonly name: string; readonly layers: number }): Promise<Image> {
  const image = makeImage({ name, tag: '1', layers, layerBytes: MIB, seed: name })
  await registry.push(image)
  return image
}

async function expectWhole(node: ContainerdNode, { manifest, blobs }: Image): Promise<void> {
  for (const { digest, size } of [manifest, ...blobs]) expect(await node.readBlob(digest)).toEqual({ digest, size })
}
