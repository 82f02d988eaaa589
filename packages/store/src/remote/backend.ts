import type {
  AddressedEvent,
  AskName,
  Command,
  EndedAsk,
  Facts,
  KeptAnswer,
  PlaceChanges,
  Reply,
  SessionLease,
  Waiter,
} from '@baton-lock/core'
import type { Address, Counts, ListQuery, Place, QueueDepth, SessionRequest } from '../store.ts'

/**
 * What the remote engine needs of a database, and all that a new store of that kind has to write. A backend keeps and
 * carries: it reads parts of resources, commits changes, lists what is due and signals other processes. It decides
 * nothing.
 *
 * What fails is thrown: `StoreUnavailable` and `UnknownOutcome` as the contract of stores has them. A transaction that
 * gave way to another one is begun again by the backend itself, from the start (see `Attempts`).
 */
export interface Backend {
  /** Of the data, not of this process: what `Store` says of its `id`. */
  readonly storeId: string
  /** What other processes know this one by. */
  readonly process: string
  /** The most transactions that it runs at once. */
  readonly concurrency: number
  /** The most resources that one transaction takes, and how many such transactions run at once. Default: 64, and 3. */
  readonly together?: { readonly resources: number; readonly atOnce: number }
  /** The time by the clock that counts, as far as it is known here without asking. */
  nowMs(): number

  /** Begins to listen for what other processes send. */
  listen(receiver: Receiver): Promise<void>
  /**
   * From when it resolves, every letter of every process comes here: others find this process among the `hearers` of what
   * they open. One that is gone is struck off in time; if it was not gone, it is told that it has `missed` some.
   */
  hearAll(): Promise<void>

  /**
   * Runs `work` in a transaction, again from the start where it gave way to another or the database was lost before the
   * commit, until `byMs` (by the monotonic clock). The backend recognises its own errors for that (`Attempts`); whatever else
   * `work` throws, `UnknownOutcome` included, is passed on and not repeated.
   */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>, byMs?: number): Promise<Result>

  /** As far as can be told, these asks will come next: what they need may be read before that. */
  readAhead?(address: Address, asks: readonly AskName[]): void

  /** What is due now, at most so many of each, and when the next will be: not later than now where there may be more. */
  due(limit: number): Promise<Due>
  /** Resources that match a query, by name: one more than its limit where there are more. */
  find(query: ListQuery): Promise<readonly Address[]>
  counts(): Promise<Counts>
  /** How many wait, by namespace and operation; of very many, the longest queues will do. */
  queues(): Promise<readonly QueueDepth[]>
  /** Clears away what nobody can ask for any more: memories whose time is over, letters that nobody has read for long. */
  clear(): Promise<void>

  /** Makes a session that is alive for its ttl from now on; false where there is one of that id. */
  insertSession(session: SessionRequest): Promise<boolean>
  /**
   * Renews a session that is alive, and notes that it is at this process; nothing where it is not alive. `farewell` is
   * a letter for the process that it was at until now, if that was another one, sent in the same transaction.
   */
  renewSession(session: string, farewell: string): Promise<RenewedSession | undefined>
  /** Until when those of these sessions that are alive are; of one of which that is not known here, nothing. */
  leasesOf(sessions: readonly string[]): Promise<ReadonlyMap<string, SessionLease>>
  /** The places of a session that is alive; nothing where it is not. */
  placesOf(session: string, limit?: number): Promise<readonly Place[] | undefined>
  /**
   * Ends a session: one that is alive (`left`), or one whose time is over (`lost`). Says how it has ended, and what hangs
   * off it; nothing where it has not ended. From then on no step finds it alive, and it stays until it is removed.
   */
  endSession(session: string, how: 'left' | 'lost'): Promise<EndedSession | undefined>
  /** Removes a session that has ended, unless something still hangs off it. */
  removeSession(session: string): Promise<void>

  /** The policy as it was written; nothing where there is none yet. */
  readPolicy(): Promise<WrittenPolicy | undefined>
  /** Writes the version after this one; false where it is not the present version (0: there is none yet). */
  writePolicy(text: string, expectedVersion: number): Promise<boolean>

  close(): Promise<void>
}

/** Who is told of what has come from other processes. */
export interface Receiver {
  /** A letter, as it was sent; each one once, those of one resource in the order in which they were committed. */
  receive(letter: string): void
  /** Some may have been missed, as after a lost watch, or after having been struck off. */
  missed(): void
  /** Something has become due that nobody could foresee, as where the database itself ends sessions. */
  due(): void
}

/** One transaction. Where it is not committed, nothing has changed. */
export interface Transaction {
  /**
   * Opens resources. Either nobody else changes them until the end of the transaction, or `commit` fails and the transaction
   * is run again, as it does where what was found was old; so nothing counts before the commit. That goes for every resource in its changes, one that was made and forgotten meanwhile included, and for
   * the sessions that were found alive. Before it resolves, every letter that was committed for this process was received,
   * or `commit` fails.
   * One that is not there is given empty. Each one's `nowMs` is read when it is open.
   */
  open(openings: readonly Opening[], how: OpenMode): Promise<Opened>
  /** Reads another part of a resource that is open. */
  read(address: Address, wanted: Wanted): Promise<Part>
  /** The policy as it is in this transaction. */
  policy(): Promise<WrittenPolicy>
  /** Which processes these sessions are at. */
  processesOf(sessions: readonly string[]): Promise<readonly string[]>
  /**
   * Makes all of these changes, sends their letters, and signals those whom the letters are for. Called once at most, and
   * last. Throws `UnknownOutcome` where it is not known whether they were made.
   */
  commit(changes: readonly Change[]): Promise<void>
}

/**
 * `wait`: waits for whoever has it open. `free`: waits for nobody; what is not there, or is open elsewhere, is left out.
 * `read`: this transaction does not change it; what it reads is of one moment.
 */
export type OpenMode = 'wait' | 'free' | 'read'

/** A resource to be opened. */
export interface Opening {
  readonly address: Address
  /** Sessions of which has to be known whether they are alive. */
  readonly sessions: readonly string[]
  /** What will be wanted of it. */
  readonly parts: readonly Wanted[]
}

/** What was found when resources were opened. */
export interface Opened {
  readonly policyVersion: number
  /** The other processes that hear of everything. */
  readonly hearers: readonly string[]
  readonly alive: ReadonlySet<string>
  /** In the order of the openings; nothing for those that were left out. */
  readonly resources: readonly (OpenedResource | undefined)[]
}

/** What was found of one resource. */
export interface OpenedResource {
  /**
   * What time it is for this resource. Each may have an axis of its own, where a database tells no time: what is written of
   * a resource is on that axis, and never compared with what is written of another.
   */
  readonly nowMs: number
  /** What time it is by `Backend.nowMs`, for those who are shown times; absent where that is the same. */
  readonly clockMs?: number
  /** What was written of it last; nothing where it is new. */
  readonly text: string | undefined
  readonly fence: number
  /** No fence at or below it is granted. There is one for each shard (`shardOf`). */
  readonly fenceFloor: number
  /** Those that were asked for, in that order. */
  readonly parts: readonly Part[]
}

/** Some of the waiters or memories of a resource. Waiters come in the order of their tickets where nothing else is said. */
export type Wanted =
  /** So many of the oldest waiters of a queue. */
  | { readonly what: 'first'; readonly operation: string; readonly count: number }
  /** So many of the oldest waiters of all queues, after a ticket. */
  | { readonly what: 'oldest'; readonly count: number; readonly after: number }
  | { readonly what: 'owners'; readonly owners: readonly { readonly operation: string; readonly owner: string }[] }
  | { readonly what: 'revision'; readonly operation: string; readonly revision: string | undefined }
  /** How many stand before each of these tickets of a queue. */
  | { readonly what: 'positions'; readonly operation: string; readonly tickets: readonly number[] }
  /** The waiters that are due, the earliest first, and when the next will be. */
  | { readonly what: 'due'; readonly nowMs: number }
  /** What is remembered of these asks. */
  | { readonly what: 'memories'; readonly asks: readonly AskName[] }

/** What was read of a `Wanted`; only what it asks for is there. */
export interface Part {
  readonly waiters?: readonly StoredWaiter[]
  /** By ticket. */
  readonly before?: readonly (readonly [number, number])[]
  readonly nextDueMs?: number | undefined
  readonly memories?: readonly StoredMemory[]
}

/** A waiter as it is stored. */
export interface StoredWaiter {
  readonly waiter: Waiter
  /** The process that its session is at, if it has one. */
  readonly process: string | undefined
}

/** `answer`: what an ask was told in the end. `released`: how an ask ended. */
export type MemoryKind = 'answer' | 'released'

/** What is remembered of an ask. */
export interface StoredMemory extends AskName {
  readonly kind: MemoryKind
  readonly value: KeptAnswer | EndedAsk
}

/** What the steps of one resource have come to. */
export interface Change {
  readonly address: Address
  readonly nowMs: number
  /**
   * Nothing where its text is as it was: the resource has changed all the same, if anything else is in the change. `idle`
   * where it is to be forgotten, all but its fence.
   */
  readonly state: WrittenState | 'idle' | undefined
  readonly fence: number
  /** Where it is forgotten, the floor has to be raised to its fence; a floor is never lowered. */
  readonly leavesFence: boolean
  /** As they are now, not as they were written: known by their tickets. */
  readonly waiters: Readonly<Record<'appended' | 'removed' | 'renewed', readonly Waiter[]>>
  readonly memories: readonly MemoryChange[]
  readonly places: PlaceChanges
  /** The sessions that are told of it, each by this process or by one that the letter is for. A backend that does not keep them from moving compares. */
  readonly sessions: readonly string[]
  readonly letter: { readonly to: readonly string[]; readonly text: string } | undefined
  /** The steps themselves, for those who check histories. */
  readonly steps: readonly StepRecord[]
}

/**
 * The text of a resource, and what has to be found without reading it. The form of the text belongs to the engine: a backend
 * that writes down a format raises it where that form has changed.
 */
export interface WrittenState {
  readonly text: string
  readonly grants: number
  readonly waiters: number
  /** How many of them wait for each operation; none are left out. */
  readonly queues: Readonly<Record<string, number>>
  readonly dueAtMs: number | undefined
}

/** `value`: nothing where it has to go. */
export interface MemoryChange extends AskName {
  readonly kind: MemoryKind
  readonly node: string | undefined
  readonly value: KeptAnswer | EndedAsk | undefined
}

/** A command that was run, and what came of it. */
export interface StepRecord {
  readonly command: Command
  readonly facts?: Facts | undefined
  readonly reply: Reply
  readonly events: readonly AddressedEvent[]
}

/** What is due now, and when something will be next, by `Backend.nowMs`. */
export interface Due {
  readonly resources: readonly Address[]
  readonly sessions: readonly string[]
  readonly nextMs: number | undefined
  /** How many wait in all. */
  readonly waiting: number
}

/** A session that was renewed, and how many places hang off it. */
export interface RenewedSession {
  readonly ttlMs: number
  readonly places: number
}

/** A session that has ended, and the places that hang off it. */
export interface EndedSession {
  readonly how: 'left' | 'lost'
  readonly places: readonly Place[]
}

/** A policy as it is stored. */
export interface WrittenPolicy {
  readonly version: number
  readonly text: string
}
