import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep } from '../harness/link.ts'
import type { ContentNode } from './content-node.ts'
import { type ActsOptions, digestsOf, type RandomCalls } from './random-calls.ts'
import { checkContent, checkReferences } from './settled-check.ts'
import { type ContentViolation, nowMs } from './soak-log.ts'

interface QuietOptions extends ActsOptions {
  readonly calls: RandomCalls
  readonly onProgress: (text: string) => void
}

/** Twice a lease, and all that is done when it ends. */
const SETTLE_MS = 60_000
const LOOK_MS = 300
const READ_MS = 60_000
/** containerd takes some seconds to see that a content store listens again. */
const CONNECT_MS = 30_000
const READERS = 4

/** Nothing is going on: what must hold then, holds. */
export async function checkQuiet(options: QuietOptions): Promise<void> {
  const { cluster, log, onProgress, counts } = options
  onProgress('settling')
  const unsettled = await eventually(() => unsettledOf(options), SETTLE_MS)
  for (const { rule, about, what } of unsettled) log.violated(rule, about, what)
  const compared = cluster.nodes.flatMap((node) => node.uses()).length
  counts['references compared'] = (counts['references compared'] ?? 0) + compared
  let read = 0
  for (const node of cluster.nodes) {
    const wrong = await eventually(() => contentOf(node, options), SETTLE_MS)
    for (const { rule, about, what } of wrong) log.violated(rule, about, what)
    read += await readAll(node, options, (done) => onProgress(`reading on ${node.name}: ${done}`))
  }
  counts['blobs read'] = (counts['blobs read'] ?? 0) + read
}

/** What the lock server has of the namespace: all of it, or what is held and waited for. */
export async function resourcesOf(
  serverUrl: string,
  { active = false }: { readonly active?: boolean } = {},
): Promise<{ readonly resource: string; readonly references: readonly string[] }[]> {
  const all: { resource: string; references: string[] }[] = []
  for (let after: string | undefined; ; ) {
    const query = new URLSearchParams({ namespace: 'content', limit: '200' })
    if (active) query.set('active', 'true')
    if (after !== undefined) query.set('after', after)
    const reply = await fetch(`${serverUrl}/v1/resources?${query}`)
    if (!reply.ok) throw new Error(`the lock server answered ${reply.status} ${await reply.text()}`)
    const page = (await reply.json()) as { resources: typeof all; next?: string | null }
    all.push(...page.resources)
    if (!page.next) return all
    after = page.next
  }
}

/** The names in one of the folders that Baton adds to a node. */
export function listedIn({ root }: ContentNode, folder: string): string[] {
  try {
    return readdirSync(join(root, 'host', folder === 'blobs' ? 'blobs/sha256' : `.baton/${folder}`))
  } catch {
    return []
  }
}

/** What is wrong; looked at again until nothing is, or the time is over. */
export async function eventually(
  look: () => Promise<ContentViolation[]>,
  withinMs: number,
): Promise<ContentViolation[]> {
  for (const endMs = nowMs() + withinMs; ; ) {
    const wrong = await look()
    if (wrong.length === 0 || nowMs() > endMs) return wrong
    await sleep(LOOK_MS)
  }
}

async function unsettledOf({ cluster }: QuietOptions): Promise<ContentViolation[]> {
  const stuck = (about: string, what: string): ContentViolation => ({ rule: 'stuck', about, what })
  const active = await resourcesOf(cluster.serverUrl, { active: true })
  const wrong = active.map(({ resource }) => stuck(resource, 'held or waited for, although nobody pulls or removes'))
  for (const node of cluster.nodes) {
    const pending = listedIn(node, 'pending')
    if (pending.length > 0) wrong.push(stuck(node.name, `the lock server is not told of ${pending.join(', ')}`))
  }
  if (wrong.length > 0) return wrong
  const all = await resourcesOf(cluster.serverUrl)
  const references = new Map(all.map(({ resource, references }) => [resource, references]))
  const uses = new Map(cluster.nodes.map((node) => [node.name, node.uses()]))
  return checkReferences({ references, uses })
}

async function contentOf(node: ContentNode, { images, calls }: QuietOptions): Promise<ContentViolation[]> {
  const had = new Set(await node.containerd.images())
  const whole = images.filter((image) => had.has(image.at(node.door)) && calls.isWhole(node.name, image))
  return checkContent({
    node: node.name,
    content: await node.containerd.contentList(),
    uses: node.uses(),
    images: whole.map((image) => ({ name: image.name, digests: digestsOf(image) })),
  })
}

/** Everything that the node counts on, in full. Returns how much that was. */
async function readAll(node: ContentNode, { log }: QuietOptions, onRead: (done: string) => void): Promise<number> {
  const listed = async () => new Set(await node.containerd.contentList())
  const known = await listed()
  const unread = [...new Set([...known, ...node.uses()])]
  const total = unread.length
  const readOne = async (digest: string) => {
    const wrong = known.has(digest) ? await readThroughContainerd(node, digest) : await readFromUnion(node, digest)
    // The collector may have taken it meanwhile, with its use.
    if (wrong !== undefined && (node.uses().includes(digest) || (await listed()).has(digest))) {
      log.violated('missing', digest, `${node.name} counts on it: ${wrong}`)
    }
  }
  const reader = async () => {
    for (let digest = unread.pop(); digest !== undefined; digest = unread.pop()) {
      onRead(`${total - unread.length} of ${total}`)
      await readOne(digest)
    }
  }
  await Promise.all(Array.from({ length: READERS }, reader))
  return total
}

async function readThroughContainerd(node: ContentNode, digest: string): Promise<string | undefined> {
  for (const endMs = nowMs() + CONNECT_MS; ; ) {
    try {
      const read = await node.containerd.readBlob(digest, { timeoutMs: READ_MS })
      return read.digest === digest ? undefined : `what was read through containerd is ${read.digest}`
    } catch (error) {
      const { message } = error as Error
      if (!/code = Unavailable desc = connection error/.test(message) || nowMs() > endMs) return message
      await sleep(LOOK_MS)
    }
  }
}

/** containerd does not know of it (yet, or any more), and the content store does. */
async function readFromUnion({ root }: ContentNode, digest: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(join(root, 'merged', 'blobs', 'sha256', digest.slice('sha256:'.length)))
    const read = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    return read === digest ? undefined : `what was read from the union is ${read}`
  } catch (error) {
    return (error as Error).message
  }
}
