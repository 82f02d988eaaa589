import type { WrittenTimes } from './times.ts'

/** What is written of a resource: a line of our own, and the text, which belongs to the engine. */
export interface StoredResource extends WrittenTimes {
  readonly fence: number
  /** A commit of which not all is done yet: see `journal.ts`. */
  readonly journal: string | undefined
  /** As it is stored: see `large-values.ts`. */
  readonly value: string
}

const NONE = '-'

export function resourceText({ fence, atMs, aheadMs, dueAtMs, journal, value }: StoredResource): string {
  return `${[fence, atMs, aheadMs, dueAtMs ?? NONE, journal ?? NONE].join(' ')}\n${value}`
}

export function resourceFrom(text: string): StoredResource {
  const end = text.indexOf('\n')
  const [fence, atMs, aheadMs, dueAtMs, journal] = text.slice(0, end).split(' ')
  return {
    fence: Number(fence),
    atMs: Number(atMs),
    aheadMs: Number(aheadMs),
    dueAtMs: dueAtMs === NONE ? undefined : Number(dueAtMs),
    journal: journal === NONE ? undefined : journal,
    value: text.slice(end + 1),
  }
}

/** What every process knows of a resource without reading it. */
export interface StoredHead extends WrittenTimes {
  readonly grants: number
  readonly queues: Readonly<Record<string, number>>
}

export function headText({ atMs, aheadMs, dueAtMs, grants, queues }: StoredHead): string {
  return JSON.stringify([atMs, aheadMs, dueAtMs ?? null, grants, queues])
}

export function headFrom(value: string): StoredHead {
  const [atMs, aheadMs, dueAtMs, grants, queues] = JSON.parse(value)
  return { atMs, aheadMs, dueAtMs: dueAtMs ?? undefined, grants, queues }
}

/** How many wait in all. */
export function waitersIn({ queues }: Pick<StoredHead, 'queues'>): number {
  let waiters = 0
  for (const count of Object.values(queues)) waiters += count
  return waiters
}
