import {
  type Change,
  type Opened,
  type Opening,
  type OpenMode,
  type Part,
  type Transaction,
  type Wanted,
  type WrittenPolicy,
  waiterDueMs,
} from '@baton-lock/store/remote'
import { type Address, UnknownOutcome } from '@baton-lock/store/store'
import type { Copy } from '../cache/copies.ts'
import { Conflict, failedCommit } from '../failures.ts'
import { pathOf } from '../keys.ts'
import { deadlineName } from './changes.ts'
import { type CommitPlan, CommitPlanner } from './commit-plan.ts'
import { isThere } from './comparisons.ts'
import type { Around } from './dependencies.ts'
import { OpenedResources } from './opening.ts'
import { beginPart } from './parts.ts'
import { readPolicy } from './policy.ts'

/** Reads, and at the end one transaction of etcd's, which changes all or, where something is not as it was read, nothing. */
export class EtcdTransaction implements Transaction {
  readonly #around: Around
  /** What the commit before this one has found, where it failed. */
  readonly #found: FailedCommit | undefined
  readonly #tries: number
  /** Of waiters that were read, by the path of their resource. */
  readonly #deadlines = new Map<string, Map<string, number | undefined>>()
  #openings: readonly Opening[] = []
  #how: OpenMode = 'wait'
  #opened: OpenedResources | undefined
  /** For the next one, where this one has failed. */
  failed: FailedCommit | undefined

  constructor(around: Around, tries: number, found: FailedCommit | undefined) {
    this.#around = around
    this.#tries = tries
    this.#found = found
  }

  async open(openings: readonly Opening[], how: OpenMode): Promise<Opened> {
    const taken = how === 'free' ? asManyAsFit(openings) : openings
    this.#openings = taken
    this.#how = how
    const found = this.#found && this.#found.name === nameOf(taken) ? this.#found.opened : undefined
    this.#opened = found ?? (await this.#openedBy(taken))
    const opened = await this.#opened.opened().catch((error) => {
      // Where it was because of a copy, the next try would fail like this one.
      this.#dropCopies()
      throw error
    })
    for (const [at, resource] of opened.resources.entries())
      for (const part of resource?.parts ?? []) this.#note(taken[at]!.address, part)
    const leftOut = openings.slice(taken.length).map(() => undefined)
    return { ...opened, resources: [...opened.resources, ...leftOut] }
  }

  /** At first by what is known here, or by what one member knows; where that was not so, by what a quorum says. */
  async #openedBy(openings: readonly Opening[]): Promise<OpenedResources> {
    const opened = new OpenedResources(this.#around, openings, { how: this.#how, tries: this.#tries })
    return (await opened.recall()) ? opened : opened.run()
  }

  async read(address: Address, wanted: Wanted): Promise<Part> {
    const { keys } = this.#around
    const reading = await this.#opened!.readOn(address, (reads) => beginPart(keys, address, wanted, reads))
    const part = reading.end()
    this.#note(address, part)
    return part
  }

  async policy(): Promise<WrittenPolicy> {
    return (await readPolicy(this.#around))!
  }

  processesOf(sessions: readonly string[]): Promise<readonly string[]> {
    return this.#opened!.processesOf(sessions)
  }

  async commit(changes: readonly Change[]): Promise<void> {
    const { copies, etcd, index, journal, readAhead, storeState } = this.#around
    const opened = this.#opened!
    // They are no longer what they were, or nobody knows what they are.
    this.#dropCopies()
    const plan = await new CommitPlanner(this.#around, opened, this.#deadlines).planOf(changes)
    const compare = [...opened.comparisons(changes), ...plan.marks.map((key) => isThere(key))]
    // What nobody else was heard to change, or goes together with others, is seldom in conflict: to ask for all of it with every commit is in vain.
    const next = this.#how === 'free' || opened.isRecalled ? undefined : this.#nextOpened()
    const along = storeState.inCommit(plan.operations)
    // What goes by a journal is not done when the commit is made.
    const known: ReadonlyMap<string, Copy> = plan.journals.length === 0 ? opened.copies : new Map()
    const ahead = readAhead.inCommit(changes, known)
    const success = [...plan.operations, ...ahead.operations, ...along.operations]
    const reads = next?.toRead()
    const txn = { compare, success, failure: reads?.operations ?? [] }
    const { succeeded, revision, outcomes } = await etcd.txn(txn).catch((error) => {
      const failure = failedCommit(error)
      if (!(failure instanceof UnknownOutcome)) this.#discard(plan)
      throw failure
    })
    if (!succeeded) {
      this.#discard(plan)
      reads?.take(outcomes, revision)
      this.failed = next && { name: nameOf(this.#openings), opened: next }
      throw new Conflict('somebody else was first')
    }
    copies.committed(known, plan.operations, revision)
    ahead.committed(outcomes.slice(plan.operations.length, success.length - along.operations.length), revision)
    for (const { change, head } of plan.written) {
      const { seenMs, stored, stamp } = opened.of(change.address)
      const times = { ...stamp, atMs: change.nowMs, dueAtMs: stored?.dueAtMs }
      if (change.state === undefined) index.touched(change.address, revision, times, seenMs)
      else index.committed(change.address, revision, head, seenMs)
      // Somebody may have changed it since, and the watch been quicker than this answer.
      copies.heard(pathOf(change.address), index.of(change.address)?.headRevision ?? 0)
    }
    // Whoever opens the resource before it is done helps.
    for (const id of plan.journals) void journal.finish(id).catch(() => {})
    along.committed(outcomes.slice(-along.operations.length), revision)
  }

  #dropCopies(): void {
    for (const path of this.#opened!.paths) this.#around.copies.drop(path)
  }

  /** The same once more, to be read by quorum where the commit fails. */
  #nextOpened(): OpenedResources {
    return new OpenedResources(this.#around, this.#openings, { how: this.#how, tries: this.#tries + 1 })
  }

  /** What was written for a commit that came to nothing. Where that cannot be deleted, it is cleared away later. */
  #discard({ journals, unused }: CommitPlan): void {
    const { etcd, journal } = this.#around
    for (const id of journals) void journal.discard(id).catch(() => {})
    if (unused.length > 0) void etcd.txn({ compare: [], success: unused }).catch(() => {})
  }

  #note(address: Address, { waiters = [] }: Part): void {
    if (waiters.length === 0) return
    const path = pathOf(address)
    const known = this.#deadlines.get(path) ?? new Map<string, number | undefined>()
    this.#deadlines.set(path, known)
    for (const { waiter } of waiters) known.set(deadlineName(waiter.operation, waiter.ticket), waiterDueMs(waiter))
  }
}

/**
 * A transaction has 128 comparisons, and the more there are the fewer operations; sixteen more say where sessions are. Reads that are more than 128
 * cost a commit.
 */
const COMPARISONS = 74
const READS = 124

/** The first ones, as many as one transaction takes. */
function asManyAsFit(openings: readonly Opening[]): readonly Opening[] {
  const sessions = new Set<string>()
  let reads = 0
  for (const [at, opening] of openings.entries()) {
    for (const session of opening.sessions) sessions.add(session)
    reads += 1 + opening.parts.reduce((sum, part) => sum + (part.what === 'memories' ? part.asks.length : 1), 0)
    const comparisons = 2 + 2 * (at + 1) + sessions.size
    if (at > 0 && (comparisons > COMPARISONS || reads + sessions.size + 3 > READS)) return openings.slice(0, at)
  }
  return openings
}

/** What a commit that failed has found instead. */
export interface FailedCommit {
  readonly name: string
  readonly opened: OpenedResources
}

function nameOf(openings: readonly Opening[]): string {
  return JSON.stringify(openings)
}
