import type { Baton } from '@baton-lock/client'
import type { ContentStore } from './blobs/content-store.ts'
import type { Counts } from './counters.ts'
import type { WriterStage } from './ingests/writer.ts'

/** A blob on its way into this node. */
export interface IngestView {
  /** As containerd names it. */
  readonly ref: string
  /** `sha256:…`, where the ref says it. */
  readonly digest?: string
  /** `left`: nobody writes it at the moment. */
  readonly stage: WriterStage | 'left'
  /** How many bytes there are. */
  readonly offset: number
  /** Of how many; 0 where that is not known. */
  readonly total: number
  /** When it began. */
  readonly startedAtMs: number
}

/** A blob that some node of the cluster fetches. */
export interface PullView {
  /** `sha256:…` */
  readonly digest: string
  /** Who fetches it. */
  readonly node: string
  /** How far it is, where it has said so. */
  readonly bytes?: number
  /** Of how many. */
  readonly total?: number
  /** Since when. */
  readonly sinceMs: number
  /** The nodes that wait for it. */
  readonly waiting: readonly string[]
}

/** Who pulls what, how far, and what was saved. */
export interface ContentStatus extends Counts {
  /** This node. */
  readonly node: string
  /** Whether a lock server answers: without one, pulls go on without asking, or wait, as configured. */
  readonly isCoordinated: boolean
  /** How many blobs this node uses, and their bytes. */
  readonly uses: { readonly blobs: number; readonly bytes: number }
  /** What comes in on this node. */
  readonly ingests: readonly IngestView[]
  /** What is fetched in the cluster; nothing where no lock server answers. */
  readonly pulls: readonly PullView[]
  /** How much the lock server has yet to be told. */
  readonly pending: number
  /** Nodes whose folders are not there. */
  readonly absentNodes: readonly string[]
}

/** How a node stands. */
export async function statusOf(store: ContentStore): Promise<ContentStatus> {
  const { config, counters, uses, pending, union, reachability, baton } = store
  let bytes = 0
  for (const { size } of uses.all().values()) bytes += size
  const pulls = reachability.isAway ? undefined : await pullsOf(baton)
  return {
    node: config.node,
    isCoordinated: pulls !== undefined,
    uses: { blobs: uses.all().size, bytes },
    ...counters.counts,
    ingests: ingestsOf(store),
    pulls: pulls ?? [],
    pending: pending.size,
    absentNodes: await union.absentNodes(),
  }
}

function ingestsOf(store: ContentStore): IngestView[] {
  return Array.from(store.ingests.all(), ({ ref, offset, total, startedAtMs }) => {
    const writer = store.writerOf(ref)
    const digest = writer?.digest
    return { ref, ...(digest && { digest }), stage: writer?.stage ?? 'left', offset, total, startedAtMs }
  })
}

async function pullsOf(baton: Baton): Promise<PullView[] | undefined> {
  const pulls: PullView[] = []
  try {
    for await (const { resource: digest, grants, waiters } of baton.list({ active: true })) {
      for (const { operation, node, sinceMs, progress } of grants) {
        if (operation !== 'pull') continue
        const waiting = waiters.filter((waiter) => waiter.operation === 'pull').map((waiter) => waiter.node)
        pulls.push({ digest, node, sinceMs, waiting, ...(progress as { bytes: number; total: number } | undefined) })
      }
    }
    return pulls
  } catch {
    return undefined
  }
}
