/** What a commit has written of the times of a resource. */
export interface WrittenTimes {
  /** What time it was for the resource when its steps were decided. */
  readonly atMs: number
  /** How far that was ahead of what the process had counted from the commit before. */
  readonly aheadMs: number
  /** When something is due next. */
  readonly dueAtMs: number | undefined
}

/** What time it is for a resource, for one who is about to commit. */
export type Stamp = Pick<WrittenTimes, 'atMs' | 'aheadMs'>

const CATCH_UP_MS = 5_000

/**
 * What time it is for one resource, as this process counts it. etcd has no clock that can be read, and the clocks of
 * processes have nothing to do with each other. So each resource has an axis of its own: a commit says what time it was on
 * it, and whoever sees that counts on from there by its own clock. Time is lost between a commit and the sight of it, and none is ever
 * gained: nothing is due early.
 *
 * Where processes take turns at committing, that loss adds up, and a deadline might never come. So the next deadline is counted
 * from when this process first saw it, for as long as it stays the next one. When it has come by that count, the commit says so, and by how much
 * it is ahead of the other count: for so long the axis then stands still, for everybody. For others may have set deadlines meanwhile,
 * later ones, on an axis that had lost time; those must not come nearer by what it has caught up. Where a process has come to a resource so late
 * that this would take long, as after a restart, its count is taken over instead, and the deadline is put off by what it has lost.
 */
export class Times {
  /** Of the commit that was seen last. */
  revision: number
  /** That commit was this process's. */
  isOwn: boolean
  #atMs: number
  /** From when on time passes after `#atMs`, by the clock of this process. */
  #fromMs: number
  #dueAtMs: number | undefined
  /** By the clock of this process. */
  #dueMs: number

  /** `seenMs`: by the clock of this process. */
  constructor(revision: number, written: WrittenTimes, seenMs: number, isOwn = false) {
    this.revision = revision
    this.isOwn = isOwn
    this.#atMs = written.atMs
    this.#fromMs = seenMs + written.aheadMs
    this.#dueAtMs = written.dueAtMs
    this.#dueMs = this.#countedDueMs()
  }

  /** A later commit was seen; one that is known already is not. */
  see(revision: number, { atMs, aheadMs, dueAtMs }: WrittenTimes, seenMs: number, isOwn = false): void {
    // The watch may have told of a commit of this process's own before the commit was answered.
    const isNowKnownAsOwn = isOwn && revision === this.revision
    if (revision <= this.revision && !isNowKnownAsOwn) return
    this.revision = revision
    this.isOwn = isOwn
    this.#atMs = atMs
    this.#fromMs = seenMs + aheadMs
    const isSameDeadline = dueAtMs === this.#dueAtMs
    this.#dueAtMs = dueAtMs
    const dueMs = this.#countedDueMs()
    // What would have to be caught up with is lost to whatever is set after that: more than this is not worth it.
    const isKept = isSameDeadline && dueMs - this.#dueMs <= CATCH_UP_MS
    this.#dueMs = isKept ? Math.min(this.#dueMs, dueMs) : dueMs
  }

  get dueAtMs(): number | undefined {
    return this.#dueAtMs
  }

  /** When the next deadline comes, by the clock of this process. */
  dueMs(): number | undefined {
    return this.#dueAtMs === undefined ? undefined : this.#dueMs
  }

  /** What time it is for the resource, where it is `localMs` here. */
  nowMs(localMs: number): number {
    const countedMs = this.#countedMs(localMs)
    return this.#dueAtMs !== undefined && localMs >= this.#dueMs ? Math.max(countedMs, this.#dueAtMs) : countedMs
  }

  /**
   * As `nowMs`, for one who is about to commit: after another process's commit at least one millisecond later, so that no two
   * deadlines that processes have set are taken for one.
   */
  stamp(localMs: number): Stamp {
    const nowMs = Math.floor(this.nowMs(localMs))
    const atMs = this.isOwn ? nowMs : Math.max(nowMs, this.#atMs + 1)
    // What is left of a time in which it stands still goes on.
    return { atMs, aheadMs: Math.max(0, atMs - (this.#atMs + localMs - this.#fromMs)) }
  }

  #countedMs(localMs: number): number {
    return this.#atMs + Math.max(0, localMs - this.#fromMs)
  }

  #countedDueMs(): number {
    return this.#dueAtMs === undefined ? Infinity : this.#fromMs + (this.#dueAtMs - this.#atMs)
  }
}
