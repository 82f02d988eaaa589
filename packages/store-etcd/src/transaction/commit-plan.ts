import type { Change } from '@baton-lock/store/remote'
import type { Operation } from '../etcd.ts'
import { pathOf } from '../keys.ts'
import { letterValue } from '../messages/letter-value.ts'
import { Writes, type WrittenDeadlines, writeGainedPlaces, writeParts, writeResource } from './changes.ts'
import type { Around } from './dependencies.ts'
import type { StoredHead } from './document.ts'
import type { OpenedResources } from './opening.ts'
import { isSmall } from './operations.ts'

/** Where a commit is too large, what takes more operations than this goes by a journal. */
const FEW = 60
/** And a text that is longer than this stands apart; a letter that would be is sent without what has changed. */
const ROOM = 8 * 1024
/** How a resource has changed is told where no more have come or gone than these. */
const FEW_MOVED = 4

/** What a commit does. */
export interface CommitPlan {
  readonly operations: readonly Operation[]
  readonly journals: readonly string[]
  /** What was written for it before, and has to be there still: whoever clears away what is old may have taken it for left behind. */
  readonly marks: readonly string[]
  /** Deletes what was written for it before, where it comes to nothing. */
  readonly unused: readonly Operation[]
  readonly written: readonly Draft[]
}

interface SentLetter {
  readonly change: Change
  readonly value: string
  readonly keys: readonly string[]
}

interface Draft {
  readonly change: Change
  readonly head: StoredHead | undefined
  readonly parts: readonly Operation[]
  readonly text: string | undefined
  readonly isChanged: boolean
}

/** Makes of what has changed what is written. What is too large for one request is written before that. */
export class CommitPlanner {
  readonly #around: Around
  readonly #opened: OpenedResources
  readonly #deadlines: ReadonlyMap<string, WrittenDeadlines>

  /** `deadlines`: of waiters that were read, by the path of their resource. */
  constructor(around: Around, opened: OpenedResources, deadlines: ReadonlyMap<string, WrittenDeadlines>) {
    this.#around = around
    this.#opened = opened
    this.#deadlines = deadlines
  }

  async planOf(changes: readonly Change[]): Promise<CommitPlan> {
    const { journal, keys, large } = this.#around
    const drafts = changes.map((change) => this.#draftOf(change))
    const written = drafts.filter(({ isChanged }) => isChanged)
    const writes = new Writes()
    const sent = await this.#writeLetters(writes, changes)
    this.#writeHistory(writes, drafts)
    this.#raiseFloor(writes, changes)
    if (written.length > 0) writes.put(keys.tick, '')
    const isLarge = !isSmall([...writes.all, ...drafts.flatMap(({ parts, text }) => [...parts, sizeOf(text)])])
    const journals: string[] = []
    const parts: Operation[] = []
    const unused: Operation[] = []
    const marks: string[] = []
    for (const draft of written) {
      const { change, head, text } = draft
      // Whoever ends a session looks for its places without opening the resources: these are never left to a journal.
      writeGainedPlaces(keys, writes, change)
      const byJournal = isLarge && draft.parts.length > FEW && change.state !== 'idle'
      const id = byJournal ? await journal.write(draft.parts) : undefined
      if (id !== undefined) {
        journals.push(id)
        marks.push(journal.markOf(id))
      } else parts.push(...draft.parts)
      const { stored, stamp } = this.#opened.of(change.address)
      const value = text === undefined ? (stored?.value ?? '') : await large.write(text, isLarge ? ROOM : undefined)
      const dueAtMs = head ? head.dueAtMs : stored?.dueAtMs
      writeResource(keys, writes, change, { head, aheadMs: stamp.aheadMs, dueAtMs, value, journal: id })
      const isReplaced = stored !== undefined && (change.state === 'idle' || stored.value !== value)
      if (isReplaced) parts.push(...large.deletions(stored.value))
      if (text !== undefined) {
        unused.push(...large.deletions(value))
        marks.push(...large.marksOf(value))
      }
    }
    for (const mark of marks) writes.put(mark, '')
    if (!isLarge) this.#attachDeltas(writes, sent, parts)
    return { operations: [...writes.all, ...parts], journals, unused, marks, written }
  }

  #draftOf(change: Change): Draft {
    const { keys } = this.#around
    const { address, state, nowMs } = change
    const found = this.#opened.of(address)
    const parts = writeParts(keys, change, this.#deadlines.get(pathOf(address)) ?? new Map())
    const head: StoredHead | undefined =
      state === undefined || state === 'idle'
        ? undefined
        : {
            atMs: nowMs,
            aheadMs: found.stamp.aheadMs,
            dueAtMs: state.dueAtMs,
            grants: state.grants,
            queues: state.queues,
          }
    const wasThere = found.stored !== undefined
    const hasParts = parts.length > 0 || change.places.gained.length > 0
    // One that is new and idle was never there.
    const isChanged = state === 'idle' ? wasThere || hasParts : state !== undefined || hasParts
    const text = state === undefined || state === 'idle' ? undefined : state.text
    return { change, head, parts, text, isChanged }
  }

  async #writeLetters(writes: Writes, changes: readonly Change[]): Promise<readonly SentLetter[]> {
    const { keys, large, uniqueName } = this.#around
    const sending = changes.filter(({ letter }) => letter !== undefined)
    const letters = sending.map(({ letter }) => letter!)
    const values = await large.writeLetters(letters)
    return sending.map((change, at) => {
      const value = values[at]!
      const letterKeys = letters[at]!.to.map((process) => {
        writes.put(keys.bell(process), '')
        return keys.letter(process, uniqueName())
      })
      for (const key of letterKeys) writes.put(key, value)
      return { change, value, keys: letterKeys }
    })
  }

  /** Where somebody has come to wait or is next, others go on with the resource: they are told how it has changed. */
  #attachDeltas(writes: Writes, sent: readonly SentLetter[], parts: readonly Operation[]): void {
    const { copies, large } = this.#around
    for (const { change, value, keys } of sent) {
      const { address, waiters } = change
      const { modRevision } = this.#opened.of(address)
      const moved = waiters.appended.length + waiters.removed.length
      if (modRevision === 0 || moved === 0 || moved > FEW_MOVED || large.isInParts(value)) continue
      const delta = copies.deltaOf(pathOf(address), modRevision, [...writes.all, ...parts])
      const letter = letterValue(value, delta)
      if (letter.length <= ROOM) for (const key of keys) writes.put(key, letter)
    }
  }

  #writeHistory(writes: Writes, drafts: readonly Draft[]): void {
    const { keys, uniqueName } = this.#around
    for (const { change, isChanged: isWritten } of drafts) {
      const { address, nowMs, steps } = change
      if (steps.length === 0) continue
      const taken = steps.map(({ command, facts, reply, events }) => ({ nowMs, command, facts, reply, events }))
      // `nowMs` is on the axis of the resource; whoever checks histories wants one that all share.
      const wallMs = this.#around.wallMs()
      writes.put(keys.history(uniqueName()), JSON.stringify({ ...address, wallMs, isWritten, steps: taken }))
    }
  }

  /** Above the revision only where several fences were granted by one commit. */
  #raiseFloor(writes: Writes, changes: readonly Change[]): void {
    const left = changes.filter(({ state, leavesFence }) => state === 'idle' && leavesFence).map(({ fence }) => fence)
    const { meta } = this.#opened
    const floor = Math.max(meta.floor, ...left)
    if (floor > meta.floor) writes.put(this.#around.keys.meta, JSON.stringify({ ...meta, floor }))
  }
}

/** What the text of a resource will take. */
function sizeOf(text = ''): Operation {
  return { put: { key: '', value: text } }
}
