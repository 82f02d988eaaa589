/*
 * The rules of arbitration once more, slow, short and obvious: the yardstick that the core is measured by. It shares
 * nothing with the core but the shapes of commands and replies, and it must stay that way: a rule that is misread in one of
 * the two shows as a difference. Read it beside the design, top to bottom: the commands are here, what several of them do is
 * in `naive-rules.ts`.
 */
import type { Acquire, Cancel, Command, HeardAsker, Leave, Release, Renew, Reply, SessionLost } from '../core/index.ts'
import { clean, isSameActor, NaiveRules, no } from './naive-rules.ts'
import type { Actor, Ask, Held, Lease, Memory, Model, ModelContext } from './naive-state.ts'

export { type Model, type ModelContext, newModel } from './naive-state.ts'

/** Applies one command and says what the answer must be. */
export function naiveStep(m: Model, command: Command, context: ModelContext): Reply {
  return new NaiveStep(m, context).take(command)
}

type Name = { owner: string; node?: string }

class NaiveStep extends NaiveRules {
  take(command: Command): Reply {
    const { m } = this
    if (command.type === 'recover') this.recover()
    this.applyDeadlines()
    const named = 'node' in command ? command.node : undefined
    if (named !== undefined && !this.mayActFor(named)) return no('forbidden')
    switch (command.type) {
      case 'acquire':
        return this.acquire(command)
      case 'release':
        return this.release(command)
      case 'renew':
        return this.renew(command)
      case 'cancel':
        return this.cancel(command)
      case 'revoke': {
        const held = m.held.find((each) => each.op === command.operation)
        if (!held) return no('unknown-grant')
        if (command.fence !== undefined && command.fence !== held.fence) return no('stale-fence')
        this.endGrant(held, { outcome: 'revoked', error: 'revoked by an operator' })
        return { status: 'revoked', fence: held.fence, node: held.node } as Reply
      }
      case 'progress': {
        if (this.isOutOfReach(command.operation, command)) return no('forbidden')
        const held = m.held.find((each) => each.op === command.operation)
        if (!held) return no('unknown-grant')
        if (!this.isNamed(held, command)) return no('not-holder')
        if (held.fence !== command.fence) return no('stale-fence')
        held.progress = [command.progress]
        return { status: 'noted' } as Reply
      }
      case 'heard':
        for (const asker of command.askers) m.answers = m.answers.filter((each) => !isHeard(each, asker))
        return { status: 'done' } as Reply
      case 'leave':
      case 'session-lost':
        return this.loseSession(command)
      case 'expire':
      case 'recover':
        return { status: 'done' } as Reply
      case 'add-reference':
        if (m.held.some((each) => this.rowOf(each)?.dropsReferences)) return no('busy')
        this.addReference(command.node)
        break
      case 'release-reference':
        this.dropReference(command.node)
        break
      case 'drop-node':
        this.dropReference(command.node)
        m.kept = m.kept.filter(({ node }) => node !== command.node)
    }
    return { status: 'references', count: m.references.length } as Reply
  }

  // Who may act.

  mayActFor(node: string): boolean {
    return this.context.actsFor?.includes(node) ?? true
  }

  isNamed(actor: Actor, { owner, node }: Name): boolean {
    return actor.owner === owner && (node === undefined ? this.mayActFor(actor.node) : actor.node === node)
  }

  /** Whether a command without a node means somebody, but nobody that it may mean. */
  isOutOfReach(op: string, name: Name): boolean {
    const meant = [...this.m.held, ...this.m.line].filter((each) => each.op === op && each.owner === name.owner)
    return name.node === undefined && meant.length > 0 && !meant.some((each) => this.isNamed(each, name))
  }

  // Deadlines.

  /** Who could not renew, because the store was away, has its time once more. */
  recover(): void {
    const { m, context } = this
    for (const ask of [...m.line, ...m.held]) ask.lease = this.again(ask.lease)
    for (const held of m.held) {
      if (held.claimByMs !== undefined) held.claimByMs = context.nowMs + context.policy.claimMs
      for (const hold of held.holds) hold.lease = this.again(hold.lease)
    }
  }

  /** Every step first applies the deadlines that are due. */
  applyDeadlines(): void {
    const { m } = this
    const { nowMs } = this.context
    m.kept = m.kept.filter(({ untilMs }) => untilMs > nowMs)
    m.answers = m.answers.filter(({ untilMs }) => untilMs > nowMs)
    m.released = m.released.filter(({ untilMs }) => untilMs > nowMs)
    const over = (ask: Ask) => Math.min(ask.lease.untilMs, ask.waitUntilMs)
    for (const ask of m.line.filter((each) => over(each) <= nowMs).sort((a, b) => over(a) - over(b))) {
      if (ask.lease.untilMs <= nowMs) this.leave(ask)
      else {
        this.tell([ask], no('wait-over'))
        this.endPauseOfNobody(ask.op)
      }
    }
    for (const held of [...m.held]) {
      if (held.claimByMs !== undefined && Math.min(held.claimByMs, held.lease.untilMs) <= nowMs) this.passOver(held)
      else if (held.claimByMs === undefined) this.loseHolds(held, ({ untilMs }) => untilMs <= nowMs)
    }
    for (const pause of m.pauses.filter(({ untilMs }) => untilMs <= nowMs)) {
      m.pauses = m.pauses.filter((each) => each !== pause)
      this.goOn(pause.op, true, pause)
    }
    // Another policy may have set queues free.
    for (const op of m.line.map((each) => each.op).sort())
      if (!this.isHeld(op) && !this.isPaused(op)) this.goOn(op, false, { attempt: 1 })
  }

  leaseOf({ session }: Acquire, ttlMs: number): Lease {
    return session === undefined
      ? { untilMs: this.context.nowMs + ttlMs, ttlMs }
      : { session, untilMs: Infinity, ttlMs: 0 }
  }

  again(lease: Lease): Lease {
    return lease.session === undefined ? { ...lease, untilMs: this.context.nowMs + lease.ttlMs } : lease
  }

  // Acquire.

  acquire(c: Acquire): Reply {
    const { m } = this
    if (c.session !== undefined && !this.context.alive(c.session)) return no('session-lost')
    const ask = this.askOf(c)
    if (!this.rowOf(ask)) return no('unknown-operation')
    const ended = c.hold === '-' ? undefined : this.whatHasEnded(ask)
    if (ended) return ended
    if (c.dropReference && !this.isUnderWay(ask)) this.dropReference(c.node)

    const inTheWay = m.held.find((each) => each.op === ask.op) ?? (this.oneHolder ? m.held[0] : undefined)
    if (inTheWay && isSameActor(inTheWay, ask)) {
      if (inTheWay.op === ask.op) return this.holdOnceMore(inTheWay, c)
      if (!ask.classic) {
        const place = this.placeOf(ask)
        if (place?.hold === ask.hold) this.leave(place)
        return no('held-by-you')
      }
    }
    const answer = this.keptAnswer(ask)
    if (answer) return answer
    if (c.verified && !this.isContradicted(ask.op)) {
      if (this.skipReferences(ask)) this.addReference(c.node)
      return this.skipped(ask, { status: 'skip', fence: 0 } as Reply)
    }
    if (inTheWay || this.isPaused(ask.op)) return this.standInLine(ask, c, inTheWay)
    const verdict = this.arbitrate(ask)
    if (verdict) return this.skipped(ask, verdict)
    const held = this.grant(ask, 1)
    held.holds.push({ id: c.hold, lease: this.leaseOf(c, c.ttlMs) })
    return granted(held)
  }

  askOf(c: Acquire): Ask {
    const ask: Ask = {
      op: c.operation,
      owner: c.owner,
      node: c.node,
      hold: c.hold,
      rev: c.revision,
      said: c.disbelieve,
      ref: c.reference ?? true,
      verifies: c.verifies ?? false,
      classic: c.classic ?? false,
      lease: this.leaseOf(c, c.placeTtlMs ?? c.ttlMs),
      waitUntilMs: c.waitMs === undefined ? Infinity : this.context.nowMs + c.waitMs,
    }
    if (c.disbelieve !== undefined) {
      ask.disbelieved = Math.min(c.disbelieve, this.m.kept.find((each) => each.op === c.operation)?.fence ?? 0)
    }
    return ask
  }

  placeOf(ask: Ask): Ask | undefined {
    return this.m.line.find((each) => each.op === ask.op && isSameActor(each, ask))
  }

  /** A duplicate of what has ended changes nothing; one that says something else is another ask. */
  whatHasEnded(ask: Ask): Reply | undefined {
    const { m } = this
    for (const memory of m.released.filter((each) => isAbout(each, ask))) {
      if (!memory.told) return no('hold-ended')
      const { rev, said, answer, untilMs } = memory.told
      if (rev === ask.rev && said === ask.said) return untilMs > this.context.nowMs ? answer : no('hold-ended')
      m.released = m.released.filter((each) => each !== memory)
    }
    return undefined
  }

  /** Whether this very ask stands in line or has been granted: it drops its node's reference once. */
  isUnderWay(ask: Ask): boolean {
    const { op, hold } = ask
    const held = this.m.held.find((each) => each.op === op && isSameActor(each, ask))
    const isGranted = held?.hold === hold || held?.holds.some(({ id }) => id === hold)
    return hold !== '-' && (isGranted || this.placeOf(ask)?.hold === hold)
  }

  holdOnceMore(held: Held, c: Acquire): Reply {
    for (const hold of held.holds) hold.lease = this.again(hold.lease)
    held.holds = held.holds.filter(({ id }) => id !== c.hold)
    held.holds.push({ id: c.hold, lease: this.leaseOf(c, c.ttlMs) })
    held.claimByMs = undefined
    return granted(held)
  }

  keptAnswer(ask: Ask): Reply | undefined {
    const { m } = this
    for (const kept of m.answers.filter((each) => isAbout(each, ask))) {
      const takenBack = kept.answer.status === 'refused' && kept.answer.code === 'cancelled'
      const given = takenBack || (kept.rev === ask.rev && kept.said === ask.said)
      if (!given || ask.hold === '-') m.answers = m.answers.filter((each) => each !== kept)
      if (given) return kept.answer
      m.answers = m.answers.filter((each) => !isAbout(each, ask))
      break
    }
    return undefined
  }

  /** An ask that ends at once is remembered where it has changed something. */
  skipped(ask: Ask, answer: Reply): Reply {
    if (ask.hold !== '-' && answer.status === 'skip' && this.skipReferences(ask)) this.rememberTold(ask, answer)
    return answer
  }

  standInLine(ask: Ask, c: Acquire, inTheWay: Held | undefined): Reply {
    const { m } = this
    const { policy, mayQueue = true } = this.context
    const queue = () => m.line.filter((each) => each.op === ask.op)
    const present = this.placeOf(ask)
    if (present) present.lease = ask.lease
    else {
      const queueing = c.queueing ?? this.rowOf(ask)?.queueing ?? policy.queueing
      if (!queueing || c.waitMs === 0) return no('busy')
      if (!mayQueue || queue().length >= policy.queueLimit) return no('queue-full')
      m.line.push(ask)
    }
    const position = queue().findIndex((each) => isSameActor(each, ask)) + 1
    const [progress] = inTheWay?.progress ?? []
    return { status: 'queued', position, ...(progress !== undefined && { progress }) } as Reply
  }

  // What holders and waiters say.

  release(c: Release): Reply {
    const { m } = this
    const held = m.held.find((each) => each.op === c.operation)
    const mine = held && this.isNamed(held, c) ? held : undefined
    const isFenceOf = ({ fence }: { fence: number }) => (c.fence ?? fence) === fence
    if (mine && isFenceOf(mine) && mine.holds.some(({ id }) => id === c.hold)) return this.releaseHold(mine, c.hold, c)
    const done = m.released.find(
      (each) =>
        each.op === c.operation &&
        each.hold === c.hold &&
        this.isNamed({ owner: each.owner, node: each.node! }, c) &&
        isFenceOf(each),
    )
    if (done) return done.reply
    if (this.isOutOfReach(c.operation, c)) return no('forbidden')
    if (!held) return no('unknown-grant')
    return mine && !isFenceOf(mine) ? no('stale-fence') : no('not-holder')
  }

  renew(c: Renew): Reply {
    const { m } = this
    if (this.isOutOfReach(c.operation, c)) return no('forbidden')
    const held = m.held.find((each) => each.op === c.operation)
    const waiting = m.line.find((each) => each.op === c.operation && this.isNamed(each, c))
    const renewed = (ttlMs: number) => ({ status: 'renewed', ...(ttlMs > 0 && { expiresInMs: ttlMs }) }) as Reply
    if (held && this.isNamed(held, c)) {
      if (held.claimByMs !== undefined) {
        held.lease = this.again(held.lease)
        return renewed(held.lease.ttlMs)
      }
      if (c.fence !== held.fence) return no('stale-fence')
      for (const hold of held.holds) hold.lease = this.again(hold.lease)
      return renewed(Math.max(...held.holds.map(({ lease }) => lease.ttlMs)))
    }
    if (!waiting) return no(held ? 'not-holder' : 'unknown-grant')
    waiting.lease = this.again(waiting.lease)
    return renewed(waiting.lease.ttlMs)
  }

  cancel(c: Cancel): Reply {
    const { m } = this
    const { operation: op, owner, hold } = c
    if (this.isOutOfReach(op, c)) return no('forbidden')
    const held = m.held.find((each) => each.op === op && this.isNamed(each, c))
    const waiting = m.line.find((each) => each.op === op && this.isNamed(each, c) && each.hold === hold)
    // It may come before the ask that it takes back.
    for (const node of c.node === undefined ? (this.context.actsFor ?? [undefined]) : [c.node])
      this.keepAnswer({ op, owner, node, hold }, no('cancelled'))
    if (held?.holds.some(({ id }) => id === hold)) this.releaseHold(held, hold, { outcome: 'cancelled' })
    else if (held?.claimByMs !== undefined && held.hold === hold) this.endGrant(held, { outcome: 'cancelled' })
    else if (waiting) {
      this.leave(waiting)
      return { status: 'cancelled', was: 'queued' } as Reply
    } else return { status: 'cancelled', was: 'nothing' } as Reply
    return { status: 'cancelled', was: 'granted' } as Reply
  }

  loseSession(c: SessionLost | Leave): Reply {
    const { m } = this
    const isMeant = (each: Ask) =>
      each.op === c.operation && each.owner === c.owner && (c.node ?? each.node) === each.node
    const ofIt = (lease: Lease) => lease.session === c.session
    for (const waiting of m.line.filter(isMeant)) if (ofIt(waiting.lease)) this.leave(waiting)
    const held = m.held.find(isMeant)
    if (held?.claimByMs === undefined) {
      if (held) this.loseHolds(held, ofIt, c.type === 'leave')
    } else if (ofIt(held.lease)) {
      if (c.type === 'leave') this.endGrant(held, { outcome: 'cancelled' })
      else this.passOver(held)
    }
    return { status: 'done' } as Reply
  }
}

function granted({ fence, attempt, previous, holds }: Held): Reply {
  return clean({ status: 'granted', fence, attempt, previous, holds: holds.length }) as Reply
}

function isAbout(memory: Memory, { op, owner, hold, node }: Ask): boolean {
  return memory.op === op && memory.owner === owner && memory.hold === hold && (memory.node ?? node) === node
}

function isHeard(
  memory: Model['answers'][number],
  { operation, owner, node = memory.node, fence }: HeardAsker,
): boolean {
  const { answer } = memory
  const isSame = 'fence' in answer && answer.fence === fence
  return memory.op === operation && memory.owner === owner && memory.hold === '-' && memory.node === node && isSame
}
