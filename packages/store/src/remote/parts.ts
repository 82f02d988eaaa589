import {
  type AskName,
  askName,
  type Command,
  type EndedAsk,
  type KeptAnswer,
  SHARED_HOLD,
  type Waiter,
} from '@baton-lock/core'
import type { Part, StoredWaiter, Wanted } from './backend.ts'

/**
 * A step has asked for something that was not read. It has to be read, and the step decided again from the start: the core
 * knows nothing of databases and cannot wait.
 */
export class NotLoaded extends Error {
  override readonly name = 'NotLoaded'
  readonly wanted: Wanted

  constructor(wanted: Wanted) {
    super(`not loaded: ${JSON.stringify(wanted)}`)
    this.wanted = wanted
  }
}

/**
 * What was read of the waiters and memories of a resource. Each part says for itself what it is all of, so that 'not
 * there' and 'not read' are told apart. Tickets stand for waiters, in order.
 */
export class Parts {
  readonly byTicket = new Map<number, Waiter>()
  /** The first of a queue; `whole` where that is all of it. */
  readonly first = new Map<string, { readonly tickets: readonly number[]; readonly whole: boolean }>()
  /** The process that each waiter's session is at. */
  readonly processes = new Map<string, string>()
  /** So many of the oldest of all queues, after a ticket. */
  oldest: { readonly count: number; readonly after: number } | undefined
  readonly owners = new Set<string>()
  readonly revisions = new Set<string>()
  /** How many stood before a ticket. */
  readonly before = new Map<number, number>()
  /** Those that were due at a moment, the earliest first, and the first deadline after that moment. */
  due: { readonly atMs: number; readonly tickets: readonly number[]; readonly nextMs: number | undefined } | undefined
  /** By the names of their asks, oldest first. */
  readonly answers = new Map<string, KeptAnswer[]>()
  readonly released = new Map<string, EndedAsk[]>()

  /** Takes in what was read. */
  add(wanted: Wanted, part: Part): void {
    const tickets = this.#put(part.waiters ?? [])
    switch (wanted.what) {
      case 'first':
        this.first.set(wanted.operation, { tickets, whole: tickets.length < wanted.count })
        return
      case 'oldest':
        this.oldest = wanted
        return
      case 'owners':
        for (const { operation, owner } of wanted.owners) this.owners.add(partName(operation, owner))
        return
      case 'revision':
        this.revisions.add(partName(wanted.operation, wanted.revision))
        return
      case 'positions':
        for (const [ticket, before] of part.before ?? []) this.before.set(ticket, before)
        return
      case 'due':
        this.due = { atMs: wanted.nowMs, tickets, nextMs: part.nextDueMs }
        return
      case 'memories':
        this.#addMemories(wanted.asks, part)
    }
  }

  #put(waiters: readonly StoredWaiter[]): number[] {
    return waiters.map(({ waiter, process }) => {
      this.byTicket.set(waiter.ticket, waiter)
      if (waiter.lease.session !== undefined && process !== undefined) this.processes.set(waiter.lease.session, process)
      return waiter.ticket
    })
  }

  #addMemories(asks: readonly AskName[], { memories = [] }: Part): void {
    const names = asks.map(askName)
    for (const name of names) {
      this.answers.set(name, [])
      this.released.set(name, [])
    }
    for (const memory of memories) {
      const name = askName(memory)
      if (memory.kind === 'answer') this.answers.get(name)!.push(memory.value as KeptAnswer)
      else this.released.get(name)!.push(memory.value as EndedAsk)
    }
    for (const name of names)
      for (const values of [this.answers.get(name)!, this.released.get(name)!])
        values.sort((a, b) => a.untilMs - b.untilMs)
  }
}

/** What belongs to a queue and to something in it. */
export function partName(operation: string, part: string | undefined): string {
  return JSON.stringify([operation, part ?? null])
}

/** What one of several commands wants of a resource, the others will want too. */
export function widened(wanted: Wanted, commands: readonly Command[]): Wanted {
  if (wanted.what === 'owners') {
    const owners = commands.flatMap((command) =>
      'owner' in command ? { operation: command.operation, owner: command.owner } : [],
    )
    return { ...wanted, owners: [...wanted.owners, ...owners] }
  }
  if (wanted.what === 'memories') return { ...wanted, asks: distinct([...wanted.asks, ...commands.flatMap(asksOf)]) }
  return wanted
}

/** The asks that a command speaks of. */
export function asksOf(command: Command): AskName[] {
  if (command.type === 'heard') return command.askers.map((asker) => ({ ...asker, hold: SHARED_HOLD }))
  return command.type === 'acquire' || command.type === 'release' || command.type === 'cancel' ? [command] : []
}

export function distinct(asks: readonly AskName[]): AskName[] {
  return [...new Map(asks.map((ask) => [askName(ask), ask])).values()]
}
