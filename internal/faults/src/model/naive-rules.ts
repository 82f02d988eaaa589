import type { OperationPolicy, Reply } from '@baton-lock/core'
import type { Actor, Ask, Ended, Held, Lease, Memory, Model, ModelContext } from './naive-state.ts'

export const no = (code: string) => ({ status: 'refused', code }) as Reply
export const clean = <T extends object>(value: T) => JSON.parse(JSON.stringify(value))
export const isSameActor = (a: Actor, b: Actor) => a.node === b.node && a.owner === b.owner

const plain: OperationPolicy = {
  whenReferenced: 'allow',
  waitersOnSuccess: 'next',
  addsReference: false,
  dropsReferences: false,
  keepMs: 0,
  keepRevisionMs: 0,
  attempts: 0,
  retryDelayMs: 0,
  contradicts: [],
}

type Carry = { rev?: string; attempt: number; previous?: Held['previous'] }
type AskName = Omit<Memory, 'untilMs'>

/** The rules that several commands share: which grant blocks, rules 2 to 4, how a grant ends, and how a queue goes on. */
export class NaiveRules {
  readonly m: Model
  readonly context: ModelContext
  /** Nobody of this session is there any more. */
  gone: string | undefined

  constructor(model: Model, context: ModelContext) {
    this.m = model
    this.context = context
  }

  get oneHolder(): boolean {
    return this.context.policy.exclusion === 'resource'
  }

  rowOf({ op, classic = false }: { op: string; classic?: boolean }): OperationPolicy | undefined {
    const { operations, updateRequiresNoRef } = this.context.policy
    const row = Object.hasOwn(operations, op) ? operations[op] : undefined
    if (row && op === 'update' && updateRequiresNoRef) return { ...row, whenReferenced: 'refuse' }
    return row ?? (classic ? { ...plain, waitersOnSuccess: 'skip' } : undefined)
  }

  // References.

  addReference(node: string): void {
    if (!this.m.references.includes(node)) this.m.references.push(node)
    const numbers = this.numbers()
    numbers.of[node] = this.nextNumber()
  }

  /** They begin above everything that was counted before, whatever became of it. */
  numbers(): NonNullable<Model['numbers']> {
    const { m, context } = this
    const begin = Math.max(m.fence, context.fenceFloor ?? 0)
    m.numbers ??= { last: begin, lastRelease: begin, of: {} }
    return m.numbers
  }

  nextNumber(): number {
    const numbers = this.numbers()
    numbers.last = Math.max(numbers.last, this.m.fence) + 1
    return numbers.last
  }

  dropReference(node: string): void {
    const { m } = this
    if (!m.references.includes(node)) return
    const number = this.nextNumber()
    this.numbers().lastRelease = number
    delete this.numbers().of[node]
    m.references = m.references.filter((each) => each !== node)
    if (m.references.length === 0) m.kept = m.kept.filter(({ op }) => !this.rowOf({ op })?.addsReference)
  }

  /** Whether this ask's node is referenced when it skips. */
  skipReferences(ask: Ask): boolean {
    return this.rowOf(ask)?.addsReference === true && ask.ref && !ask.verifies
  }

  // What is remembered: one for each operation, owner, hold and node.

  /**
   * A skip or a failure under a hold id of its own ends the ask; otherwise the answer waits for it a short while. Under the
   * shared hold id a refusal does not: who asks again is meant to ask anew.
   */
  keepAnswer(ask: AskName & { rev?: string; said?: number }, answer: Reply): void {
    const { op, owner, hold, node, rev, said } = ask
    const isRefusal = answer.status === 'refused'
    if (hold !== '-' && !isRefusal) this.rememberTold(ask, answer)
    else if (hold !== '-' || !isRefusal) {
      this.m.answers = this.m.answers.filter((each) => !isOf(each, ask))
      this.m.answers.push({ op, owner, hold, node, rev, said, answer, untilMs: this.context.nowMs + 10_000 })
    }
  }

  rememberTold(ask: AskName & { rev?: string; said?: number }, answer: Reply): void {
    const { rev, said } = ask
    const told = { rev, said, answer, untilMs: this.context.nowMs + 10_000 }
    this.remember(ask, { fence: 0, reply: no('unknown-grant'), told })
  }

  /** An ended hold is remembered however it ended, so that nothing of it can come back. */
  rememberEnd(held: Held, hold: string, reply: Reply): void {
    this.remember({ ...held, hold }, { fence: held.fence, reply })
  }

  remember({ op, owner, hold, node }: AskName, what: Omit<Model['released'][number], keyof Memory>): void {
    const name = { op, owner, hold, node }
    this.m.released = this.m.released.filter((each) => !isOf(each, name))
    this.m.released.push({ ...name, ...what, untilMs: this.context.nowMs + 60_000 })
  }

  // Which grant blocks.

  isHeld(op: string): boolean {
    return this.m.held.some((each) => this.oneHolder || each.op === op)
  }

  isPaused(op: string): boolean {
    return this.m.pauses.some((each) => this.oneHolder || each.op === op)
  }

  /** Whether a grant is live whose success would mean that what the operation did is not there any more. */
  isContradicted(op: string): boolean {
    return this.m.held.some((each) => this.rowOf(each)?.contradicts.includes(op))
  }

  /** Rules 2 and 3. */
  arbitrate(ask: Ask): Reply | undefined {
    const { m } = this
    const row = this.rowOf(ask)
    if (!row) return no('unknown-operation')
    const skip = (answer: object) => {
      if (this.skipReferences(ask)) this.addReference(ask.node)
      return clean(answer) as Reply
    }
    const maySkip = !this.isContradicted(ask.op)
    const mine = m.kept.find((each) => each.op === ask.op && each.rev === ask.rev)
    const believed = mine && (ask.disbelieved === undefined || mine.fence > ask.disbelieved)
    if (believed && maySkip)
      return skip({
        status: 'skip',
        fence: mine.fence,
        by: mine.node,
        atMs: mine.atMs,
        result: mine.result,
        resultOmitted: mine.resultOmitted,
        traceparent: mine.traceparent,
      })
    if (m.references.length > 0 && row.whenReferenced === 'refuse') return no('in-use')
    if (m.references.length > 0 && row.whenReferenced === 'skip' && maySkip) {
      if (ask.disbelieved === undefined && ask.rev === undefined) return skip({ status: 'skip', fence: 0 })
    }
    if (mine && !believed) m.kept = m.kept.filter((each) => each !== mine)
    return undefined
  }

  /** Rule 4. */
  grant(ask: Ask, attempt: number, previous?: Held['previous']): Held {
    const { m, context } = this
    m.fence = Math.max(m.fence, context.fenceFloor ?? 0) + 1
    const held: Held = { ...ask, fence: m.fence, attempt, previous, holds: [] }
    m.held.push(held)
    return held
  }

  tell(asks: Ask[], answer: Reply): void {
    this.m.line = this.m.line.filter((each) => !asks.includes(each))
    for (const ask of asks) this.keepAnswer(ask, answer)
  }

  goOn(op: string, ownFirst: boolean, carry: Carry): void {
    const { m, context } = this
    if (this.isHeld(op)) return
    for (;;) {
      const own = m.line.find((each) => each.op === op)
      const next = !this.oneHolder || (ownFirst && own) ? own : m.line[0]
      if (!next) return
      if (this.gone !== undefined && next.lease.session === this.gone) {
        this.leave(next)
        if (this.isHeld(op)) return
        continue
      }
      const verdict = this.arbitrate(next)
      if (verdict) this.tell([next], verdict)
      else {
        m.line = m.line.filter((each) => each !== next)
        const same = next.op === op && next.rev === carry.rev
        const held = same ? this.grant(next, carry.attempt, carry.previous) : this.grant(next, 1)
        held.claimByMs = context.nowMs + context.policy.claimMs
        return
      }
    }
  }

  // How grants end.

  endGrant(held: Held, ended: Ended): void {
    const { m } = this
    m.held = m.held.filter((each) => each !== held)
    for (const { id } of held.holds) this.rememberEnd(held, id, no('unknown-grant'))
    if (held.claimByMs === undefined) {
      m.revoked = m.revoked.filter(({ op }) => op !== held.op)
      const { op, fence, node } = held
      if (ended.outcome === 'revoked') m.revoked.push({ op, fence, node, untilMs: this.context.nowMs + 10_000 })
    }
    if (ended.outcome === 'success') this.succeed(held, ended)
    else this.fail(held, ended)
  }

  succeed(held: Held, { result, resultOmitted, effect, keepMs: said, traceparent }: Ended): void {
    const { m } = this
    const { nowMs } = this.context
    const { op, rev, fence, node } = held
    const row = this.rowOf(held) ?? plain
    if (effect !== 'none') {
      if (row.dropsReferences) for (const each of m.references) this.dropReference(each)
      m.kept = m.kept.filter((each) => each.op !== op && !row.contradicts.includes(each.op))
      // Whoever was told that such work is there is not told so again.
      const isUntrue = (each: Memory, answer?: Reply) => row.contradicts.includes(each.op) && answer?.status === 'skip'
      m.answers = m.answers.filter((each) => !isUntrue(each, each.answer))
      m.released = m.released.filter((each) => !isUntrue(each, each.told?.answer))
      const keepMs = said ?? (rev === undefined ? row.keepMs : row.keepRevisionMs)
      const told = { result, resultOmitted, traceparent }
      if (keepMs > 0) m.kept.push({ op, rev, fence, node, atMs: nowMs, ...told, untilMs: nowMs + keepMs })
      if (row.addsReference && held.ref) this.addReference(node)
    }
    if (row.waitersOnSuccess === 'skip') {
      const waiting = this.sameWork(held)
      for (const ask of waiting) if (row.addsReference && ask.ref && !ask.verifies) this.addReference(ask.node)
      this.tell(
        waiting,
        clean({ status: 'skip', fence, by: node, atMs: nowMs, result, resultOmitted, effect, traceparent }) as Reply,
      )
    }
    this.goOn(op, false, { attempt: 1 })
  }

  fail(held: Held, ended: Ended): void {
    const { m } = this
    const { op, rev, fence, node } = held
    const row = this.rowOf(held) ?? plain
    const begun = held.claimByMs === undefined
    const error = ended.outcome === 'cancelled' ? 'cancelled by its holder' : ended.error
    const tried = begun && (ended.outcome === 'failure' || ended.outcome === 'expired')
    const attempt = held.attempt + (tried ? 1 : 0)
    const spanned = ended.outcome === 'failure' && ended.traceparent ? { traceparent: ended.traceparent } : {}
    const previous = begun ? { node, outcome: ended.outcome, error, ...spanned } : held.previous
    if (ended.permanent || (row.attempts > 0 && attempt > row.attempts)) {
      const permanent = ended.permanent === true
      const answer = { status: 'failed', fence, by: node, error, permanent, attempts: attempt - 1, ...spanned } as Reply
      this.tell(this.sameWork(held), answer)
      this.goOn(op, true, { attempt: 1 })
    } else if (ended.outcome === 'failure' && row.retryDelayMs > 0 && m.line.some((each) => each.op === op)) {
      m.pauses = m.pauses.filter((each) => each.op !== op)
      m.pauses.push({ op, rev, attempt, previous, untilMs: this.context.nowMs + row.retryDelayMs })
    } else this.goOn(op, true, { rev, attempt, previous })
  }

  sameWork({ op, rev }: Held): Ask[] {
    return this.m.line.filter((each) => each.op === op && each.rev === rev)
  }

  releaseHold(held: Held, hold: string, ended: Ended): Reply {
    const reply = { status: 'released', outcome: ended.outcome, holdsLeft: held.holds.length - 1 } as Reply
    this.remember({ ...held, hold }, { fence: held.fence, reply })
    held.holds = held.holds.filter(({ id }) => id !== hold)
    if (held.holds.length === 0) this.endGrant(held, ended)
    return reply
  }

  passOver(held: Held): void {
    this.keepAnswer(held, no('passed-over'))
    this.endGrant(held, { outcome: 'expired', error: 'not claimed in time' })
  }

  loseHolds(held: Held, lost: (lease: Lease) => boolean, left = false): void {
    const [gone, kept] = [held.holds.filter(({ lease }) => lost(lease)), held.holds.filter(({ lease }) => !lost(lease))]
    if (kept.length > 0) {
      for (const { id } of gone) this.rememberEnd(held, id, no('unknown-grant'))
      held.holds = kept
    } else this.endGrant(held, left ? { outcome: 'cancelled' } : { outcome: 'expired', error: 'its session ran out' })
  }

  // How waiters leave.

  leave(ask: Ask): void {
    this.m.line = this.m.line.filter((each) => each !== ask)
    this.endPauseOfNobody(ask.op)
  }

  endPauseOfNobody(op: string): void {
    const { m } = this
    if (m.line.some((each) => each.op === op) || !m.pauses.some((each) => each.op === op)) return
    m.pauses = m.pauses.filter((each) => each.op !== op)
    this.goOn(op, true, { attempt: 1 })
  }
}

function isOf(memory: Memory, { op, owner, hold, node }: AskName): boolean {
  return memory.op === op && memory.owner === owner && memory.hold === hold && memory.node === node
}
