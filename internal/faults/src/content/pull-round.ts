import type { ContainerdNode } from './containerd-node.ts'
import type { ContentCluster } from './content-cluster.ts'
import type { ContentNode } from './content-node.ts'
import type { Image } from './image.ts'

interface PullRound {
  /** By digest: how often it was fetched, by all nodes together. */
  readonly gets: ReadonlyMap<string, number>
  readonly elapsedMs: number
}

/** These nodes pull an image at the same time. Throws where one cannot unpack it or read it back. */
export async function pullRound(
  cluster: ContentCluster,
  image: Image,
  nodes: readonly ContentNode[] = cluster.nodes,
): Promise<PullRound> {
  cluster.link.resetGets()
  const startMs = performance.now()
  await cluster.pullAll(image, nodes)
  const elapsedMs = performance.now() - startMs
  await Promise.all(nodes.map(({ containerd }) => readBack(containerd, image)))
  const { byDigest } = cluster.link.blobGets()
  return { gets: new Map(image.blobs.map(({ digest }) => [digest, byDigest.get(digest)?.gets ?? 0])), elapsedMs }
}

/** Throws where a blob that is read through the content store is not what it is called, or a layer is not unpacked. */
export async function readBack(node: ContainerdNode, { manifest, blobs, layers }: Image): Promise<void> {
  for (const { digest, size } of [manifest, ...blobs]) {
    const read = await node.readBlob(digest)
    if (read.digest !== digest || read.size !== size) {
      throw new Error(`${node.name} reads ${read.size} bytes, ${read.digest}, where it has ${size} bytes, ${digest}`)
    }
  }
  const unpacked = (await node.snapshots()).length
  if (unpacked < layers.length) throw new Error(`${node.name} has unpacked ${unpacked} of ${layers.length} layers`)
}
