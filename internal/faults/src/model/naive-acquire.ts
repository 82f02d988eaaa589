import type { Acquire, Reply } from '@baton-lock/core'
import { clean, isSameActor, NaiveRules, no } from './naive-rules.ts'
import type { Ask, Held, Lease, Memory } from './naive-state.ts'

/** Acquire: an ask, the same ask again, or a claim. */
export class NaiveAcquire extends NaiveRules {
  acquire(c: Acquire): Reply {
    const { m } = this
    if (c.session !== undefined && !this.context.alive(c.session)) return no('session-lost')
    const ask = this.askOf(c)
    if (!this.rowOf(ask)) return no('unknown-operation')
    const ended = c.hold === '-' ? undefined : this.whatHasEnded(ask)
    if (ended) return ended
    if (c.dropReference && !this.isUnderWay(ask)) this.dropReference(c.node)

    const blocking = m.held.find((each) => each.op === ask.op) ?? (this.oneHolder ? m.held[0] : undefined)
    if (blocking && isSameActor(blocking, ask)) {
      if (blocking.op === ask.op) return this.holdOnceMore(blocking, c)
      if (!ask.classic) {
        const place = this.placeOf(ask)
        if (place?.hold === ask.hold) this.leave(place)
        return no('held-by-you')
      }
    }
    const answer = this.keptAnswer(ask)
    if (answer) return answer
    const { hasRoom, mayReference } = this.context
    const isNewUse = this.skipReferences(ask) && !m.references.includes(c.node)
    if (!this.placeOf(ask) && (hasRoom === false || (isNewUse && mayReference === false))) return no('quota-exceeded')
    if (c.verified && !this.isContradicted(ask.op)) {
      if (this.skipReferences(ask)) this.addReference(c.node)
      return this.skipped(ask, { status: 'skip', fence: 0 } as Reply)
    }
    if (blocking || this.isPaused(ask.op)) return this.standInLine(ask, c, blocking)
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
      const same = rev === ask.rev && said === ask.said
      if (same && untilMs <= this.context.nowMs) return no('hold-ended')
      if (same && !(answer.status === 'skip' && this.isContradicted(ask.op))) return answer
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
    const isNew = held.claimByMs === undefined && !held.holds.some(({ id }) => id === c.hold)
    if (isNew && this.context.hasRoom === false) return no('quota-exceeded')
    for (const hold of held.holds) hold.lease = this.again(hold.lease)
    held.holds = held.holds.filter(({ id }) => id !== c.hold)
    held.holds.push({ id: c.hold, lease: this.leaseOf(c, c.ttlMs) })
    held.claimByMs = undefined
    return granted(held)
  }

  /**
   * Of several the oldest counts. One that says something else is another ask, and nothing is kept for it. A classic client is
   * told to skip for two seconds, counted from the first time.
   */
  keptAnswer(ask: Ask): Reply | undefined {
    const { m } = this
    for (const kept of m.answers.filter((each) => isAbout(each, ask))) {
      const takenBack = kept.answer.status === 'refused' && kept.answer.code === 'cancelled'
      const inDoubt = kept.answer.status === 'skip' && this.isContradicted(ask.op)
      const over = kept.repeatUntilMs !== undefined && kept.repeatUntilMs <= this.context.nowMs
      const given = takenBack || (kept.rev === ask.rev && kept.said === ask.said && !inDoubt && !over)
      const repeats = given && ask.classic && kept.answer.status === 'skip'
      if (repeats && kept.repeatUntilMs !== undefined) return kept.answer
      if (!given || repeats || ask.hold === '-') m.answers = m.answers.filter((each) => each !== kept)
      const { nowMs } = this.context
      if (repeats) m.answers.push({ ...kept, repeatUntilMs: nowMs + 2_000, untilMs: nowMs + 10_000 })
      if (given) return kept.answer
    }
    return undefined
  }

  /** An ask that ends at once is remembered where it has changed something. */
  skipped(ask: Ask, answer: Reply): Reply {
    if (ask.hold !== '-' && answer.status === 'skip' && this.skipReferences(ask)) this.rememberTold(ask, answer)
    return answer
  }

  standInLine(ask: Ask, c: Acquire, blocking: Held | undefined): Reply {
    const { m } = this
    const { policy, mayQueue = true } = this.context
    const queue = () => m.line.filter((each) => each.op === ask.op)
    const present = this.placeOf(ask)
    if (present) present.lease = ask.lease
    else {
      const queueing = c.queueing ?? this.rowOf(ask)?.queueing ?? policy.queueing
      if (!queueing || c.waitMs === 0) return no('busy')
      if (!mayQueue || queue().length >= policy.queueLimit) return no('queue-full')
      if (this.hasItsHalf(ask, queue())) return no('quota-exceeded')
      m.line.push(ask)
    }
    const position = queue().findIndex((each) => isSameActor(each, ask)) + 1
    const progress = blocking?.progress
    return { status: 'queued', position, ...(progress !== undefined && { progress }) } as Reply
  }

  /** Of a queue, each node of a token may have one half. */
  hasItsHalf({ node }: Ask, queue: Ask[]): boolean {
    const { policy, actsFor } = this.context
    return actsFor !== undefined && 2 * queue.filter((each) => each.node === node).length >= policy.queueLimit
  }

  leaseOf({ session }: Acquire, ttlMs: number): Lease {
    return session === undefined
      ? { untilMs: this.context.nowMs + ttlMs, ttlMs }
      : { session, untilMs: Infinity, ttlMs: 0 }
  }

  again(lease: Lease): Lease {
    return lease.session === undefined ? { ...lease, untilMs: this.context.nowMs + lease.ttlMs } : lease
  }
}

function granted({ fence, attempt, previous, holds }: Held): Reply {
  return clean({ status: 'granted', fence, attempt, previous, holds: holds.length }) as Reply
}

function isAbout(memory: Memory, { op, owner, hold, node }: Ask): boolean {
  return memory.op === op && memory.owner === owner && memory.hold === hold && isMeant(memory.node ?? node, node)
}

/** `api-*` means every node whose name begins so; anything else means one node. */
export function isMeant(pattern: string, node: string): boolean {
  const [start = '', rest] = pattern.split('*')
  return rest === undefined ? node === start : node.startsWith(start)
}
