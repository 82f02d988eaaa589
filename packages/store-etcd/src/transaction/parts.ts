import type { AskName, EndedAsk, KeptAnswer, Waiter } from '@baton-lock/core'
import {
  type MemoryKind,
  type Part,
  type StoredMemory,
  type StoredWaiter,
  type Wanted,
  waiterDueMs,
} from '@baton-lock/store/remote'
import type { Address } from '@baton-lock/store/store'
import type { Found, KeyValue } from '../etcd.ts'
import { Conflict } from '../failures.ts'
import { type Keys, partsIn } from '../keys.ts'
import { answerOf, type WrittenMemory } from './memories.ts'
import type { Reads } from './reads.ts'

/**
 * How a part is read: at first what leads to it, then, where there is any, what it leads to. `begin` and `go` only add
 * reads; `end` has what was read.
 */
export interface PartReading {
  /** Adds what the second read has to have. */
  go(reads: Reads): void
  end(): Part
}

/** Begins to read a part of a resource. */
export function beginPart(keys: Keys, address: Address, wanted: Wanted, reads: Reads): PartReading {
  switch (wanted.what) {
    case 'memories':
      return memories(keys, address, wanted.asks, reads)
    case 'positions':
      return positions(keys, address, wanted, reads)
    case 'owners':
      return ownersOf(keys, address, wanted.owners, reads)
    case 'due':
      return due(keys, address, wanted.nowMs, reads)
    case 'first': {
      const found = reads.add({ ...keys.queue(address, wanted.operation), limit: wanted.count })
      return waitersIn(keys, () => found().kvs)
    }
    case 'revision': {
      const found = reads.add(keys.queue(address, wanted.operation))
      return waitersIn(keys, () => found().kvs, { isWanted: ({ revision }) => revision === wanted.revision })
    }
    case 'oldest': {
      const found = reads.add(keys.waiters(address))
      return waitersIn(keys, () => found().kvs, {
        isWanted: ({ ticket }) => ticket > wanted.after,
        limit: wanted.count,
      })
    }
  }
}

/** Of more waiters than this it is looked up where they are only when that matters. */
const LOOKED_UP = 100

interface Which {
  readonly isWanted?: (waiter: Waiter) => boolean
  readonly limit?: number
}

/** Waiters by their keys, in the order of their tickets, with the processes that their sessions are at. */
function waitersIn(keys: Keys, read: () => readonly KeyValue[], { isWanted = () => true, limit }: Which = {}) {
  let waiters: readonly Waiter[] = []
  let processes = new Map<string, () => Found>()
  const go = (reads: Reads) => {
    const all = read().map(({ value }): Waiter => JSON.parse(value))
    waiters = all.filter(isWanted).sort((a, b) => a.ticket - b.ticket)
    if (limit !== undefined) waiters = waiters.slice(0, limit)
    const sessions = new Set(waiters.slice(0, LOOKED_UP).flatMap(({ lease }) => lease.session ?? []))
    processes = new Map(Array.from(sessions, (session) => [session, reads.add({ key: keys.aliveOne(session) })]))
  }
  const end = (): { readonly waiters: readonly StoredWaiter[] } => ({
    waiters: waiters.map((waiter) => {
      const { session } = waiter.lease
      return { waiter, process: session === undefined ? undefined : processes.get(session)?.().kvs[0]?.value }
    }),
  })
  return { go, end }
}

/** Those whose keys are known from another one. */
function waitersAt(reads: Reads, waiterKeys: readonly string[]): () => readonly KeyValue[] {
  const found = waiterKeys.map((key) => reads.add({ key }))
  return () => found.flatMap((each) => each().kvs)
}

function ownersOf(
  keys: Keys,
  address: Address,
  owners: readonly { readonly operation: string; readonly owner: string }[],
  reads: Reads,
): PartReading {
  const found = owners.map(({ operation, owner }) => {
    const range = keys.ticketsOf(address, operation, owner)
    const kvs = reads.add({ ...range, keysOnly: true })
    return () => kvs().kvs.map(({ key }) => keys.waiter(address, operation, Number(partsIn(key, range)[0])))
  })
  return later((reads) => waitersAt(reads, [...new Set(found.flatMap((each) => each()))]))
}

function due(keys: Keys, address: Address, nowMs: number, reads: Reads): PartReading {
  const range = keys.deadlines(address)
  const until = keys.deadlinesAfter(address, nowMs)
  const found = reads.add({ key: range.key, end: until, keysOnly: true })
  const next = reads.add({ key: until, end: range.end!, keysOnly: true, limit: 1 })
  const reading = later((reads) => {
    const waiterKeys = new Set(
      found().kvs.map(({ key }) => {
        const [, operation, ticket] = partsIn(key, range)
        return keys.waiter(address, operation!, Number(ticket))
      }),
    )
    return waitersAt(reads, [...waiterKeys])
  })
  return {
    go: reading.go,
    end: () => {
      // One that was renewed or has gone may have left something behind in the index.
      const isDue = ({ waiter }: StoredWaiter) => (waiterDueMs(waiter) ?? Infinity) <= nowMs
      const waiters = reading
        .end()
        .waiters!.filter(isDue)
        .sort((a, b) => waiterDueMs(a.waiter)! - waiterDueMs(b.waiter)! || a.waiter.ticket - b.waiter.ticket)
      const [first] = next().kvs
      return { waiters, nextDueMs: first && Number(partsIn(first.key, range)[0]) }
    },
  }
}

/** Waiters are read by what was read first, and only their sessions are left out: who is due or asks again is told here. */
function later(read: (reads: Reads) => () => readonly KeyValue[]): PartReading {
  let kvs: () => readonly KeyValue[] = () => []
  return {
    go: (reads) => {
      kvs = read(reads)
    },
    end: () => ({ waiters: kvs().map(({ value }) => ({ waiter: JSON.parse(value), process: undefined })) }),
  }
}

function positions(
  keys: Keys,
  address: Address,
  { operation, tickets }: Extract<Wanted, { readonly what: 'positions' }>,
  reads: Reads,
): PartReading {
  // To count, etcd goes over all that it counts: so over each once, from one ticket to the next.
  let { key } = keys.queue(address, operation)
  const counted = [...new Set(tickets)]
    .sort((a, b) => a - b)
    .map((ticket) => {
      const end = keys.waiter(address, operation, ticket)
      const found = reads.add({ key, end, countOnly: true })
      key = end
      return { ticket, found }
    })
  const end = (): Part => {
    let before = 0
    return {
      before: counted.map(({ ticket, found }) => {
        before += found().count
        return [ticket, before]
      }),
    }
  }
  return { go: () => {}, end }
}

function memories(keys: Keys, address: Address, asks: readonly AskName[], reads: Reads): PartReading {
  const found = asks.map((ask) => ({ ask, kvs: reads.add(keys.memoriesOf(address, ask)) }))
  const answers = new Map<string, () => Found>()
  return {
    go: (reads) => {
      for (const { kvs } of found) {
        for (const { value } of kvs().kvs) {
          const key = answerOf(JSON.parse(value))
          if (key !== undefined && !answers.has(key)) answers.set(key, reads.add({ key }))
        }
      }
    },
    end: () => ({
      memories: found.flatMap(({ ask, kvs }) => kvs().kvs.flatMap((kv) => memoryIn(keys, address, ask, kv, answers))),
    }),
  }
}

function memoryIn(
  keys: Keys,
  address: Address,
  { operation, owner, hold }: AskName,
  { key, value }: KeyValue,
  answers: ReadonlyMap<string, () => Found>,
): StoredMemory[] {
  const [kind] = partsIn(key, keys.memoriesOf(address, { operation, owner, hold }))
  const written: WrittenMemory = JSON.parse(value)
  const answerKey = answerOf(written)
  const [answer] = answerKey === undefined ? [] : answers.get(answerKey)!().kvs
  // It is cleared away with what it belongs to.
  if (answerKey !== undefined && !answer) throw new Conflict('an answer has gone meanwhile')
  const read = written.value as KeptAnswer & EndedAsk
  const full = answer && withAnswer(read, JSON.parse(answer.value))
  return [{ operation, owner, hold, kind: kind as MemoryKind, value: full ?? read }]
}

function withAnswer(value: KeptAnswer & EndedAsk, answer: KeptAnswer['answer']): KeptAnswer | EndedAsk {
  return value.kept ? { ...value, kept: { ...value.kept, answer } } : { ...value, answer }
}
