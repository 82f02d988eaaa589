/*
 * The rules of arbitration once more, slow, short and obvious: the yardstick that the core is measured by. It shares
 * nothing with the core but the shapes of commands and replies, and it must stay that way: a rule that is misread in one of
 * the two shows as a difference. Read it beside the design, top to bottom.
 */
import type { Acquire, Command, NamespacePolicy, Release, Reply } from '../core/index.ts'

interface Lease {
  session?: string
  untilMs: number
  ttlMs: number
}

interface Ask {
  op: string
  owner: string
  node: string
  hold: string
  rev?: string
  said?: number
  disbelieved?: number
  ref: boolean
  lease: Lease
  waitUntilMs: number
}

interface Held extends Ask {
  fence: number
  attempt: number
  previous?: { node: string; outcome: string; error?: string }
  claimByMs?: number
  holds: { id: string; lease: Lease }[]
}

type Ended = { outcome: string; error?: string; permanent?: boolean; result?: unknown; effect?: string }
type Remembered = { name: string; untilMs: number }

/** One resource. Everything is a list; nothing is clever. Copying it is `structuredClone(model)`. */
export interface Model {
  fence: number
  held: Held[]
  line: Ask[]
  pauses: { op: string; untilMs: number; rev?: string; attempt: number; previous?: Held['previous'] }[]
  kept: { op: string; rev?: string; fence: number; node: string; atMs: number; result?: unknown; untilMs: number }[]
  references: string[]
  answers: (Remembered & { rev?: string; said?: number; answer: Reply })[]
  released: (Remembered & { fence: number; reply: Reply })[]
}

export function newModel(): Model {
  return { fence: 0, held: [], line: [], pauses: [], kept: [], references: [], answers: [], released: [] }
}

export interface ModelContext {
  nowMs: number
  policy: NamespacePolicy
  /** The sessions that are alive. */
  alive: (session: string) => boolean
  fenceFloor?: number
}

/** Applies one command and says what the answer must be. */
export function naiveStep(m: Model, command: Command, { nowMs, policy, alive, fenceFloor = 0 }: ModelContext): Reply {
  const rowOf = (op: string) => (Object.hasOwn(policy.operations, op) ? policy.operations[op] : undefined)
  const nameOf = (op: string, owner: string, hold: string) => JSON.stringify([op, owner, hold])
  const no = (code: string) => ({ status: 'refused', code }) as Reply
  const oneHolder = policy.exclusion === 'resource'
  const clean = <T extends object>(value: T) => JSON.parse(JSON.stringify(value))

  const addReference = (node: string) => {
    if (!m.references.includes(node)) m.references.push(node)
  }
  const dropReference = (node: string) => {
    if (!m.references.includes(node)) return
    m.references = m.references.filter((each) => each !== node)
    if (m.references.length === 0) m.kept = m.kept.filter(({ op }) => !rowOf(op)?.addsReference)
  }
  const keepAnswer = (ask: Pick<Ask, 'op' | 'owner' | 'hold' | 'rev' | 'said'>, answer: Reply) => {
    if (ask.hold === '-' && answer.status === 'refused') return
    const name = nameOf(ask.op, ask.owner, ask.hold)
    m.answers = m.answers.filter((each) => each.name !== name)
    m.answers.push({ name, rev: ask.rev, said: ask.said, answer, untilMs: nowMs + 10_000 })
  }
  const tell = (asks: Ask[], answer: Reply) => {
    m.line = m.line.filter((each) => !asks.includes(each))
    for (const ask of asks) keepAnswer(ask, answer)
  }

  /** Rules 2 and 3. */
  const arbitrate = (ask: Ask): Reply | undefined => {
    const row = rowOf(ask.op)
    if (!row) return no('unknown-operation')
    const mine = m.kept.find((each) => each.op === ask.op && each.rev === ask.rev)
    if (mine && (ask.disbelieved === undefined || mine.fence > ask.disbelieved)) {
      if (row.addsReference && ask.ref) addReference(ask.node)
      return clean({ status: 'skip', fence: mine.fence, by: mine.node, atMs: mine.atMs, result: mine.result }) as Reply
    }
    if (m.references.length > 0 && row.whenReferenced === 'refuse') return no('in-use')
    if (m.references.length > 0 && row.whenReferenced === 'skip' && ask.disbelieved === undefined) {
      if (row.addsReference && ask.ref) addReference(ask.node)
      return { status: 'skip', fence: 0 } as Reply
    }
    if (mine) m.kept = m.kept.filter((each) => each !== mine)
    return undefined
  }

  const isHeld = (op: string) => m.held.some((each) => oneHolder || each.op === op)
  const isPaused = (op: string) => m.pauses.some((each) => oneHolder || each.op === op)

  /** Rule 4. */
  const grant = (ask: Ask, attempt: number, previous?: Held['previous']): Held => {
    m.fence = Math.max(m.fence, fenceFloor) + 1
    const held: Held = { ...ask, fence: m.fence, attempt, previous, holds: [] }
    m.held.push(held)
    return held
  }

  const goOn = (
    op: string,
    ownFirst: boolean,
    carry: { rev?: string; attempt: number; previous?: Held['previous'] },
  ) => {
    if (isHeld(op)) return
    for (;;) {
      const own = m.line.find((each) => each.op === op)
      const next = !oneHolder || (ownFirst && own) ? own : m.line[0]
      if (!next) return
      const verdict = arbitrate(next)
      if (verdict) tell([next], verdict)
      else {
        m.line = m.line.filter((each) => each !== next)
        const same = next.op === op && next.rev === carry.rev
        const held = same ? grant(next, carry.attempt, carry.previous) : grant(next, 1)
        held.claimByMs = nowMs + policy.claimMs
        return
      }
    }
  }

  /** An ended hold is remembered however it ended, so that nothing of it can come back. */
  const rememberEnd = (held: Held, hold: string, reply: Reply) => {
    const name = nameOf(held.op, held.owner, hold)
    if (m.released.some((each) => each.name === name && each.fence === held.fence)) return
    m.released = m.released.filter((each) => each.name !== name)
    m.released.push({ name, fence: held.fence, reply, untilMs: nowMs + 60_000 })
  }

  const endGrant = (held: Held, ended: Ended) => {
    m.held = m.held.filter((each) => each !== held)
    for (const { id } of held.holds) rememberEnd(held, id, no('unknown-grant'))
    const row = rowOf(held.op) ?? policy.operations.lock!
    const sameWork = () => m.line.filter((each) => each.op === held.op && each.rev === held.rev)
    if (ended.outcome === 'success') {
      if (ended.effect !== 'none') {
        m.kept = m.kept.filter((each) => each.op !== held.op && !row.contradicts.includes(each.op))
        const keepMs = held.rev === undefined ? row.keepMs : row.keepRevisionMs
        if (keepMs > 0) {
          const { op, rev, fence, node } = held
          m.kept.push({ op, rev, fence, node, atMs: nowMs, result: ended.result, untilMs: nowMs + keepMs })
        }
        if (row.addsReference && held.ref) addReference(held.node)
      }
      if (row.waitersOnSuccess === 'skip') {
        for (const ask of sameWork()) if (row.addsReference && ask.ref) addReference(ask.node)
        const { result, effect } = ended
        tell(
          sameWork(),
          clean({ status: 'skip', fence: held.fence, by: held.node, atMs: nowMs, result, effect }) as Reply,
        )
      }
      return goOn(held.op, false, { attempt: 1 })
    }
    const begun = held.claimByMs === undefined
    const error = ended.outcome === 'cancelled' ? 'cancelled by its holder' : ended.error
    const tried = begun && (ended.outcome === 'failure' || ended.outcome === 'expired')
    const attempt = held.attempt + (tried ? 1 : 0)
    const previous = begun ? { node: held.node, outcome: ended.outcome, error } : held.previous
    if (ended.permanent || (row.attempts > 0 && attempt > row.attempts)) {
      const permanent = ended.permanent === true
      tell(sameWork(), {
        status: 'failed',
        fence: held.fence,
        by: held.node,
        error,
        permanent,
        attempts: attempt - 1,
      } as Reply)
      return goOn(held.op, true, { attempt: 1 })
    }
    if (ended.outcome === 'failure' && row.retryDelayMs > 0 && m.line.some((each) => each.op === held.op)) {
      m.pauses.push({ op: held.op, rev: held.rev, attempt, previous, untilMs: nowMs + row.retryDelayMs })
    } else goOn(held.op, true, { rev: held.rev, attempt, previous })
  }

  const leave = (ask: Ask) => {
    m.line = m.line.filter((each) => each !== ask)
    endPauseOfNobody(ask.op)
  }
  const endPauseOfNobody = (op: string) => {
    if (m.line.some((each) => each.op === op) || !m.pauses.some((each) => each.op === op)) return
    m.pauses = m.pauses.filter((each) => each.op !== op)
    goOn(op, true, { attempt: 1 })
  }
  const passOver = (held: Held) => {
    keepAnswer(held, no('passed-over'))
    endGrant(held, { outcome: 'expired', error: 'not claimed in time' })
  }
  const loseHolds = (held: Held, lost: (lease: Lease) => boolean, left = false) => {
    const [gone, kept] = [held.holds.filter(({ lease }) => lost(lease)), held.holds.filter(({ lease }) => !lost(lease))]
    if (gone.length === 0) return
    if (kept.length === 0)
      return endGrant(held, left ? { outcome: 'cancelled' } : { outcome: 'expired', error: 'its session ran out' })
    for (const { id } of gone) rememberEnd(held, id, no('unknown-grant'))
    held.holds = kept
  }

  // Who could not renew, because the store was away, has its time once more.
  if (command.type === 'recover') {
    const fresh = (lease: Lease) => (lease.session === undefined ? { ...lease, untilMs: nowMs + lease.ttlMs } : lease)
    for (const ask of [...m.line, ...m.held]) ask.lease = fresh(ask.lease)
    for (const held of m.held) {
      if (held.claimByMs !== undefined) held.claimByMs = nowMs + policy.claimMs
      for (const hold of held.holds) hold.lease = fresh(hold.lease)
    }
  }

  // Every step first applies the deadlines that are due.
  m.kept = m.kept.filter(({ untilMs }) => untilMs > nowMs)
  m.answers = m.answers.filter(({ untilMs }) => untilMs > nowMs)
  m.released = m.released.filter(({ untilMs }) => untilMs > nowMs)
  const over = (ask: Ask) => Math.min(ask.lease.untilMs, ask.waitUntilMs)
  for (const ask of m.line.filter((each) => over(each) <= nowMs).sort((a, b) => over(a) - over(b))) {
    if (ask.lease.untilMs <= nowMs) leave(ask)
    else {
      tell([ask], no('wait-over'))
      endPauseOfNobody(ask.op)
    }
  }
  for (const held of [...m.held]) {
    if (held.claimByMs !== undefined && Math.min(held.claimByMs, held.lease.untilMs) <= nowMs) passOver(held)
    else if (held.claimByMs === undefined) loseHolds(held, ({ untilMs }) => untilMs <= nowMs)
  }
  for (const pause of m.pauses.filter(({ untilMs }) => untilMs <= nowMs)) {
    m.pauses = m.pauses.filter((each) => each !== pause)
    goOn(pause.op, true, pause)
  }
  // Another policy may have set queues free.
  for (const op of m.line.map((each) => each.op).sort())
    if (!isHeld(op) && !isPaused(op)) goOn(op, false, { attempt: 1 })

  const leaseOf = (c: Acquire, ttlMs: number): Lease =>
    c.session === undefined ? { untilMs: nowMs + ttlMs, ttlMs } : { session: c.session, untilMs: Infinity, ttlMs: 0 }
  const again = (lease: Lease): Lease =>
    lease.session === undefined ? { ...lease, untilMs: nowMs + lease.ttlMs } : lease
  const granted = (held: Held) => {
    const { fence, attempt, previous } = held
    return clean({ status: 'granted', fence, attempt, previous, holds: held.holds.length }) as Reply
  }

  const acquire = (c: Acquire): Reply => {
    if (c.session !== undefined && !alive(c.session)) return no('session-lost')
    if (!rowOf(c.operation)) return no('unknown-operation')
    if (c.dropReference) dropReference(c.node)
    const name = nameOf(c.operation, c.owner, c.hold)
    if (c.hold !== '-' && m.released.some((each) => each.name === name)) return no('hold-ended')

    const inTheWay = m.held.find((each) => each.op === c.operation) ?? (oneHolder ? m.held[0] : undefined)
    if (inTheWay?.owner === c.owner) {
      if (inTheWay.op !== c.operation) return no('held-by-you')
      for (const hold of inTheWay.holds) hold.lease = again(hold.lease)
      inTheWay.holds = inTheWay.holds.filter(({ id }) => id !== c.hold)
      inTheWay.holds.push({ id: c.hold, lease: leaseOf(c, c.ttlMs) })
      inTheWay.claimByMs = undefined
      return granted(inTheWay)
    }
    const answer = m.answers.find((each) => each.name === name)
    if (answer) {
      const takenBack = answer.answer.status === 'refused' && answer.answer.code === 'cancelled'
      if (takenBack || (answer.rev === c.revision && answer.said === c.disbelieve)) return answer.answer
      m.answers = m.answers.filter((each) => each !== answer)
    }
    const ask: Ask = {
      op: c.operation,
      owner: c.owner,
      node: c.node,
      hold: c.hold,
      rev: c.revision,
      said: c.disbelieve,
      ref: c.reference ?? true,
      lease: leaseOf(c, c.placeTtlMs ?? c.ttlMs),
      waitUntilMs: c.waitMs === undefined ? Infinity : nowMs + c.waitMs,
    }
    if (c.disbelieve !== undefined) {
      ask.disbelieved = Math.min(c.disbelieve, m.kept.find((each) => each.op === c.operation)?.fence ?? 0)
    }
    if (c.verified) {
      if (rowOf(c.operation)?.addsReference && ask.ref) addReference(c.node)
      return { status: 'skip', fence: 0 } as Reply
    }
    if (inTheWay || isPaused(c.operation)) {
      const queue = () => m.line.filter((each) => each.op === c.operation)
      const present = queue().find((each) => each.owner === c.owner)
      if (present) present.lease = ask.lease
      else {
        const queueing = c.queueing ?? rowOf(c.operation)?.queueing ?? policy.queueing
        if (!queueing || c.waitMs === 0) return no('busy')
        if (queue().length >= policy.queueLimit) return no('queue-full')
        m.line.push(ask)
      }
      return { status: 'queued', position: queue().findIndex((each) => each.owner === c.owner) + 1 } as Reply
    }
    const verdict = arbitrate(ask)
    if (verdict) return verdict
    const held = grant(ask, 1)
    held.holds.push({ id: c.hold, lease: leaseOf(c, c.ttlMs) })
    return granted(held)
  }

  const releaseHold = (held: Held, hold: string, ended: Ended): Reply => {
    const reply = { status: 'released', outcome: ended.outcome, holdsLeft: held.holds.length - 1 } as Reply
    // The shared hold id may have been released from this very grant before: the last time counts.
    m.released = m.released.filter((each) => each.name !== nameOf(held.op, held.owner, hold))
    rememberEnd(held, hold, reply)
    if (held.holds.length > 1) held.holds = held.holds.filter(({ id }) => id !== hold)
    else endGrant(held, ended)
    return reply
  }

  const release = (c: Release): Reply => {
    const held = m.held.find((each) => each.op === c.operation)
    const fits =
      held &&
      held.owner === c.owner &&
      (c.fence ?? held.fence) === held.fence &&
      held.holds.some(({ id }) => id === c.hold)
    if (fits) return releaseHold(held, c.hold, c)
    const done = m.released.find((each) => each.name === nameOf(c.operation, c.owner, c.hold))
    if (done && (c.fence ?? done.fence) === done.fence) return done.reply
    if (!held) return no('unknown-grant')
    return held.owner === c.owner && c.fence !== undefined && c.fence !== held.fence
      ? no('stale-fence')
      : no('not-holder')
  }

  switch (command.type) {
    case 'acquire':
      return acquire(command)
    case 'release':
      return release(command)
    case 'renew': {
      const held = m.held.find((each) => each.op === command.operation)
      const waiting = m.line.find((each) => each.op === command.operation && each.owner === command.owner)
      const renewed = (ttlMs: number) => ({ status: 'renewed', ...(ttlMs > 0 && { expiresInMs: ttlMs }) }) as Reply
      if (held?.owner === command.owner) {
        if (held.claimByMs !== undefined) {
          held.lease = again(held.lease)
          return renewed(held.lease.ttlMs)
        }
        if (command.fence !== held.fence) return no('stale-fence')
        for (const hold of held.holds) hold.lease = again(hold.lease)
        return renewed(Math.max(...held.holds.map(({ lease }) => lease.ttlMs)))
      }
      if (!waiting) return no(held ? 'not-holder' : 'unknown-grant')
      waiting.lease = again(waiting.lease)
      return renewed(waiting.lease.ttlMs)
    }
    case 'cancel': {
      const { operation: op, owner, hold } = command
      const held = m.held.find((each) => each.op === op && each.owner === owner)
      const waiting = m.line.find((each) => each.op === op && each.owner === owner)
      keepAnswer({ op, owner, hold }, no('cancelled'))
      if (held?.holds.some(({ id }) => id === hold)) releaseHold(held, hold, { outcome: 'cancelled' })
      else if (held?.claimByMs !== undefined && held.hold === hold) endGrant(held, { outcome: 'cancelled' })
      else if (waiting?.hold === hold) {
        leave(waiting)
        return { status: 'cancelled', was: 'queued' } as Reply
      } else return { status: 'cancelled', was: 'nothing' } as Reply
      return { status: 'cancelled', was: 'granted' } as Reply
    }
    case 'revoke': {
      const held = m.held.find((each) => each.op === command.operation)
      if (!held) return no('unknown-grant')
      if (command.fence !== undefined && command.fence !== held.fence) return no('stale-fence')
      endGrant(held, { outcome: 'revoked', error: 'revoked by an operator' })
      return { status: 'revoked', fence: held.fence, node: held.node } as Reply
    }
    case 'progress': {
      const held = m.held.find((each) => each.op === command.operation)
      if (!held) return no('unknown-grant')
      if (held.owner !== command.owner) return no('not-holder')
      return held.fence === command.fence ? ({ status: 'noted' } as Reply) : no('stale-fence')
    }
    case 'leave':
    case 'session-lost': {
      const ofIt = (lease: Lease) => lease.session === command.session
      const waiting = m.line.find((each) => each.op === command.operation && each.owner === command.owner)
      if (waiting && ofIt(waiting.lease)) leave(waiting)
      const held = m.held.find((each) => each.op === command.operation && each.owner === command.owner)
      if (held?.claimByMs === undefined) {
        if (held) loseHolds(held, ofIt, command.type === 'leave')
      } else if (ofIt(held.lease)) {
        if (command.type === 'leave') endGrant(held, { outcome: 'cancelled' })
        else passOver(held)
      }
      return { status: 'done' } as Reply
    }
    case 'expire':
    case 'recover':
      return { status: 'done' } as Reply
    case 'add-reference':
      addReference(command.node)
      break
    case 'release-reference':
      dropReference(command.node)
      break
    case 'drop-node':
      dropReference(command.node)
      m.kept = m.kept.filter(({ node }) => node !== command.node)
  }
  return { status: 'references', count: m.references.length } as Reply
}
