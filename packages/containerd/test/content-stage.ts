import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Baton, connect } from '@baton-lock/client'
import { ContentCluster } from '@baton-lock/faults/content/content-cluster'
import type { ContentNode } from '@baton-lock/faults/content/content-node'
import type { Image } from '@baton-lock/faults/content/image'
import { afterAll, beforeAll, expect } from 'vitest'
import { MAIN, until } from '../../../test/e2e/cli-process.ts'
import { askStatus } from '../src/grpc/ask-status.ts'
import type { ContentStatus } from '../src/index.ts'

export const MIB = 1 << 20

interface StageOptions {
  readonly names: readonly string[]
  /** Which of them are started; all, where nothing is said. */
  readonly started?: readonly string[]
  /** With a containerd each, or the content stores alone. */
  readonly hasContainerd?: boolean
  readonly settings?: (name: string) => string
  /** Where the lock is, instead of a server of the cluster's own. */
  readonly lock?: () => Promise<string>
}

/** A cluster for all tests of a file. It is gone when they are, with its processes and its mounts. */
export function contentStage({ names, started = names, hasContainerd = true, settings, lock }: StageOptions) {
  const stage = {} as { cluster: ContentCluster; baton: Baton; folder: string; node(name: string): ContentNode }

  beforeAll(async () => {
    stage.folder = newFolder()
    const elsewhere = await lock?.()
    const given = { ...(settings && { settings }), ...(elsewhere && { lock: elsewhere }) }
    stage.cluster = await ContentCluster.start({ folder: stage.folder, main: MAIN, names, ...given })
    stage.node = (name) => stage.cluster.node(name)
    if (!elsewhere) stage.baton = await connect(stage.cluster.serverUrl, { node: 'test', namespace: 'content' })
    const starts = started.map((name) => (hasContainerd ? stage.node(name).start() : stage.node(name).startStore()))
    // What is still starting could not be stopped.
    await Promise.allSettled(starts)
    await Promise.all(starts)
  }, 60_000)

  afterAll(async () => {
    await stage.baton?.close()
    await stage.cluster?.stop()
    expectNothingLeft(stage.folder)
  }, 60_000)

  return stage
}

/** Short: sockets lie in it. */
export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'bc-'))
}

export function expectNothingLeft(folder: string): void {
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(`${folder}/`)
  expect(existsSync(folder)).toBe(false)
}

/** One GET of each blob, by whomever. */
export function expectOneGetEach(cluster: ContentCluster, image: Image): void {
  const { byDigest } = cluster.link.blobGets()
  expect(image.blobs.map(({ digest }) => byDigest.get(digest)?.gets)).toEqual(image.blobs.map(() => 1))
}

/** What the content store has said contains this. */
export async function saidBy(node: ContentNode, sentence: string | RegExp): Promise<void> {
  await until(`${node.name} says ${sentence}`, () => node.log().search(sentence) >= 0)
}

/** By node. A pull that fails does so where it is awaited. */
export function startPulls(image: Image, nodes: readonly ContentNode[]): Map<string, Promise<void>> {
  const pull = ({ containerd, door }: ContentNode) => containerd.pull(image.at(door), { timeoutMs: 40_000 })
  const pulls = new Map(nodes.map((node) => [node.name, pull(node)]))
  for (const each of pulls.values()) each.catch(() => {})
  return pulls
}

/** Throws where it takes longer. */
export async function withinMs<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
  const startMs = performance.now()
  const value = await work
  expect(performance.now() - startMs).toBeLessThan(limitMs)
  return value
}

/** Whether it is over can be seen without waiting for it. */
export function watched<Value>(over: Promise<Value>): { readonly over: Promise<Value>; readonly isOver: boolean } {
  const seen = { over, isOver: false }
  const end = () => {
    seen.isOver = true
  }
  over.then(end, end)
  return seen
}

/** As `baton content status` shows it, without a process for it. */
export function statusOf({ socket }: ContentNode): Promise<ContentStatus> {
  return askStatus(socket)
}

/** A lock server answers it, and knows all that it has to tell. */
export async function untilTold(node: ContentNode): Promise<void> {
  await until(`${node.name} has told everything`, async () => {
    const { isCoordinated, pending } = await statusOf(node)
    return isCoordinated && pending === 0
  })
}
