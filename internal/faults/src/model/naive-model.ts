/*
 * The rules of arbitration once more, slow, short and obvious: the yardstick that the core is measured by. It shares
 * nothing with the core but the shapes of commands and replies, and it must stay that way: a rule that is misread in one of
 * the two shows as a difference. Read it beside the design: `naive-acquire.ts`, then the other commands here; what several
 * of them do is in `naive-rules.ts`.
 */
import type {
  Acknowledge,
  Cancel,
  Command,
  HeardAsker,
  Leave,
  Release,
  Renew,
  Reply,
  SessionLost,
} from '@baton-lock/core'
import { isMeant, NaiveAcquire } from './naive-acquire.ts'
import { no } from './naive-rules.ts'
import type { Actor, Ask, Lease, Model, ModelContext } from './naive-state.ts'

export { type Model, newModel } from './naive-state.ts'

/** Applies one command and says what the answer must be. */
export function naiveStep(m: Model, command: Command, context: ModelContext): Reply {
  return new NaiveStep(m, context).take(command)
}

type Name = { owner: string; node?: string }

class NaiveStep extends NaiveAcquire {
  take(command: Command): Reply {
    const { m } = this
    if (command.type === 'session-lost' || (command.type === 'leave' && command.closed)) this.gone = command.session
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
        if (!held || (command.fence !== undefined && command.fence !== held.fence)) {
          const done = m.revoked.find(({ op, fence }) => op === command.operation && fence === command.fence)
          if (done) return { status: 'revoked', fence: done.fence, node: done.node } as Reply
          return no(held ? 'stale-fence' : 'unknown-grant')
        }
        const { by } = command
        if (by === undefined) this.endGrant(held, { outcome: 'revoked', error: 'revoked by an operator' })
        else this.endGrant(held, { outcome: 'revoked', error: `revoked by ${by}`, by })
        return { status: 'revoked', fence: held.fence, node: held.node } as Reply
      }
      case 'forget': {
        const found = m.kept.find(({ op }) => op === command.operation)
        if (!found && !this.rowOf({ op: command.operation })) return no('unknown-operation')
        const isNewer = found !== undefined && command.fence !== undefined && found.fence > command.fence
        if (!isNewer) m.kept = m.kept.filter((each) => each !== found)
        return { status: 'forgotten', kept: found !== undefined && !isNewer, references: m.references.length } as Reply
      }
      case 'progress': {
        if (this.isOutOfReach(command.operation, command)) return no('forbidden')
        const held = m.held.find((each) => each.op === command.operation)
        if (!held) return no('unknown-grant')
        if (!this.isNamed(held, command)) return no('not-holder')
        if (held.fence !== command.fence) return no('stale-fence')
        held.progress = command.progress
        return { status: 'noted' } as Reply
      }
      case 'heard':
        for (const asker of command.askers) m.answers = m.answers.filter((each) => !this.isHeard(each, asker))
        return { status: 'done' } as Reply
      case 'acknowledge':
        m.released = m.released.filter((each) => !this.isAcknowledged(each, command))
        return { status: 'done' } as Reply
      case 'leave':
      case 'session-lost':
        return this.loseSession(command)
      case 'expire':
      case 'recover':
        return { status: 'done' } as Reply
      case 'add-reference':
        // What was refused is not done later either: an earlier copy may still be under way.
        if (m.held.some((each) => this.rowOf(each)?.dropsReferences)) return this.outdated(command.seen, 'busy')
        if (this.context.mayReference === false && !m.references.includes(command.node))
          return this.outdated(command.seen, 'quota-exceeded')
        // What went since may be this very reference: a late copy does not bring it back.
        if (command.seen !== undefined && (!m.numbers || m.numbers.lastRelease > command.seen)) return this.changed()
        this.addReference(command.node)
        break
      case 'release-reference':
        // A use that was said since is not the one that was meant.
        if (command.seen !== undefined && (m.numbers?.of[command.node] ?? 0) > command.seen) return this.changed()
        this.dropReference(command.node)
        break
      case 'drop-node':
        this.dropReference(command.node)
        m.kept = m.kept.filter(({ node }) => node !== command.node)
    }
    return { status: 'references', count: m.references.length } as Reply
  }

  outdated(seen: number | undefined, code: string): Reply {
    if (seen !== undefined) {
      const number = this.nextNumber()
      this.numbers().lastRelease = number
    }
    return no(code)
  }

  changed(): Reply {
    return { status: 'changed', seen: this.numbers().last } as Reply
  }

  // Who may act.

  mayActFor(node: string): boolean {
    return this.context.actsFor?.some((pattern) => isMeant(pattern, node)) ?? true
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

  /** Every step first applies the deadlines that are due, but for one that spares everybody. */
  applyDeadlines(): void {
    const { m } = this
    const nowMs = this.context.spares ? -Infinity : this.context.nowMs
    m.kept = m.kept.filter(({ untilMs }) => untilMs > nowMs)
    m.answers = m.answers.filter(({ untilMs }) => untilMs > nowMs)
    m.released = m.released.filter(({ untilMs }) => untilMs > nowMs)
    m.revoked = m.revoked.filter(({ untilMs }) => untilMs > nowMs)
    const over = (ask: Ask) => Math.min(ask.lease.untilMs, ask.waitUntilMs)
    for (const ask of m.line.filter((each) => over(each) <= nowMs).sort((a, b) => over(a) - over(b))) {
      // When the last of a paused queue leaves, another queue may go on, and with it one that is due itself.
      if (!m.line.includes(ask)) continue
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
        !each.told &&
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

  isHeard({ op, owner, node, hold, answer, repeatUntilMs }: Model['answers'][number], asker: HeardAsker): boolean {
    const isSame = 'fence' in answer && answer.fence === asker.fence && repeatUntilMs === undefined
    return op === asker.operation && hold === '-' && this.isNamed({ owner, node: node! }, asker) && isSame
  }

  isAcknowledged({ op, owner, node, hold }: Model['released'][number], c: Acknowledge): boolean {
    return op === c.operation && hold === c.hold && this.isNamed({ owner, node: node! }, c)
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
