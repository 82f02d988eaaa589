import type { ContentNode } from './content-node.ts'
import { makeImage } from './image.ts'
import { checkQuiet, eventually, listedIn, resourcesOf } from './quiet-point.ts'
import { checkEmpty } from './settled-check.ts'

type QuietOptions = Parameters<typeof checkQuiet>[0]

/** A content store looks for what nobody uses when it starts: so long it may take. */
const UPKEEP_MS = 40_000
const RESTARTS = 2
const FOLDERS = ['blobs', 'ingests', 'unconfirmed', 'pending', 'removed', 'uses']

/** Everything has healed: every node can pull what it likes, and when all images are gone, nothing is left of them. */
export async function checkHealed(options: QuietOptions): Promise<void> {
  await pullOnce(options)
  await checkQuiet(options)
  await removeAll(options)
  const { cluster, log, onProgress } = options
  for (let restarts = 0; restarts < RESTARTS; restarts++) {
    onProgress('restarting content stores')
    await Promise.all(cluster.nodes.map(restart))
    const left = await eventually(async () => checkEmpty(await leftOf(options)), UPKEEP_MS)
    if (left.length === 0) return
    if (restarts === RESTARTS - 1) for (const { rule, about, what } of left) log.violated(rule, about, what)
  }
}

/** A new image, by all nodes at once: nothing is wrong any more, so each blob is fetched once. */
async function pullOnce({ cluster, calls, images, log, onProgress }: QuietOptions): Promise<void> {
  onProgress('healed; all pull')
  const image = makeImage({ name: 'healed', tag: '1', layers: 3, layerBytes: 300_000, seed: 'healed' })
  await cluster.registry.push(image)
  const pulled = await Promise.all(cluster.nodes.map((node) => calls.pull(node, image)))
  for (const call of pulled) {
    if (call?.error !== undefined)
      log.violated('stuck', call.node, `cannot pull after everything healed: ${call.error}`)
  }
  const { byDigest } = cluster.link.blobGets()
  for (const { digest } of image.blobs) {
    const gets = byDigest.get(digest)?.gets ?? 0
    if (gets !== 1) log.violated('fetched twice', digest, `${gets} GETs by nodes that nothing is the matter with`)
  }
  const again = await Promise.all(cluster.nodes.map((node) => calls.pull(node, images[0]!)))
  for (const call of again) {
    if (call?.error !== undefined)
      log.violated('stuck', call.node, `cannot pull after everything healed: ${call.error}`)
  }
}

/** The collector goes through the whole content store when it has deleted something: the new image sees to that. */
async function removeAll({ cluster, log, onProgress }: QuietOptions): Promise<void> {
  for (const { name, containerd } of cluster.nodes) {
    onProgress(`removing all images of ${name}`)
    await containerd.dropLeases()
    for (const image of await containerd.images()) await containerd.removeImage(image)
    await containerd.collectGarbage()
    const content = await containerd.contentList()
    if (content.length > 0) log.violated('left over', name, `containerd still has ${content.join(', ')}`)
  }
}

async function restart(node: ContentNode): Promise<void> {
  await node.stopStore()
  await node.startStore()
}

async function leftOf({ cluster }: QuietOptions): Promise<Map<string, string[]>> {
  const left = new Map<string, string[]>()
  for (const node of cluster.nodes) {
    for (const folder of FOLDERS) left.set(`${node.name}: ${folder}`, listedIn(node, folder))
    const { pending, ingests } = await node.status()
    left.set(`${node.name}: pending by its status`, pending === 0 ? [] : [String(pending)])
    left.set(
      `${node.name}: ingests by its status`,
      ingests.map(({ ref }) => ref),
    )
  }
  const referenced = (await resourcesOf(cluster.serverUrl)).filter(({ references }) => references.length > 0)
  left.set(
    'the lock server: references',
    referenced.map(({ resource, references }) => `${resource} by ${references}`),
  )
  return left
}
