/** What of etcd is used. Keys and values are text (UTF-8); revisions and ids of leases are numbers below 2^53. */

/** A key as it was read. */
export interface KeyValue {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
  /** How often it was put since it was made. */
  readonly version: number
  /** 0 where it hangs off none. */
  readonly lease: number
}

/** Which keys: one, or all from `key` up to `end` (not included). */
export interface Keys {
  readonly key: string
  readonly end?: string
}

export interface RangeOptions extends Keys {
  readonly limit?: number
  readonly keysOnly?: boolean
  readonly countOnly?: boolean
  /** Only keys that were put at this revision or a later one. */
  readonly minModRevision?: number
  /** In the order in which they were put last. Default: by key. */
  readonly sort?: 'mod'
  /** As this member has it, which may be old: no quorum is asked. A transaction of reads is that where all of them are. */
  readonly serializable?: boolean
}

export type Operation =
  | { readonly range: RangeOptions }
  | { readonly put: { readonly key: string; readonly value: string; readonly lease?: number } }
  | { readonly delete: Keys }
  | { readonly txn: Txn }

/** Of one key, or of all keys in a range: then it holds where it holds for each; a key that is not there has revisions 0. */
export interface Comparison extends Keys {
  readonly target: 'create' | 'mod'
  readonly is: 'equal' | 'less' | 'greater'
  readonly revision: number
}

/** `success` is done where all comparisons hold, else `failure`; all of it at once, or nothing. */
export interface Txn {
  readonly compare: readonly Comparison[]
  readonly success: readonly Operation[]
  readonly failure?: readonly Operation[]
}

/** What came of each operation, in their order; nothing of a put or a deletion. */
export type Outcome = { readonly range: Found } | { readonly txn: TxnResult } | undefined

export interface Found {
  readonly kvs: readonly KeyValue[]
  /** All that there are, whatever the limit. */
  readonly count: number
}

export interface TxnResult {
  readonly succeeded: boolean
  /** Of the whole store, after it. (0 in the result of a nested one.) */
  readonly revision: number
  readonly outcomes: readonly Outcome[]
}

export interface WatchEvent {
  readonly type: 'put' | 'delete'
  /** Of a deletion: the key and, as `modRevision`, when; nothing else. */
  readonly kv: KeyValue
}

/** Who watches. Nothing is called any more once the watch was cancelled or the client closed. */
export interface Watched {
  /** All events of a revision come together. `revision`: that of the last one; a watch from the next one on misses nothing. */
  events(events: readonly WatchEvent[], revision: number): void
  /** It has begun, or is still there: up to this revision there is nothing that was not told. */
  progress(revision: number): void
  /** It is over: what was there to be told is compacted, or its stream is lost, which `error` is about. Called once; nothing comes after it. */
  ended(why: 'compacted' | 'lost', error: EtcdError): void
}

/** The client. Every call fails with an `EtcdError`. */
export interface Etcd {
  txn(txn: Txn, options?: { readonly timeoutMs?: number }): Promise<TxnResult>
  /** `id`: chosen by the caller, positive, below 2^53. */
  grantLease(id: number, ttlS: number): Promise<void>
  /** Says whether there was one. */
  revokeLease(id: number): Promise<boolean>
  /** Renews: its ttl in seconds from now, or 0 where there is no such lease. All go over one stream. */
  keepAlive(id: number): Promise<number>
  /** How long it lives still and its whole ttl, in seconds; nothing where there is no such lease. */
  leaseTimes(id: number): Promise<{ readonly leftS: number; readonly ttlS: number } | undefined>
  /** All keys from `key` up to `end`, from this revision on (0: from now on). Returns how to cancel it (a cancel request, then the end of the stream). */
  watch(keys: Keys, fromRevision: number, watched: Watched): () => void
  compact(revision: number): Promise<void>
  /** Of each endpoint: what it says, or why it says nothing. */
  status(): Promise<readonly MemberStatus[]>
  /** How large the database of an endpoint may become, in bytes; nothing where it does not say. */
  quota(endpoint: string): Promise<number | undefined>
  /** Alarms that are raised: NOSPACE, CORRUPT. */
  alarms(): Promise<readonly string[]>
  /** Goes to this endpoint; once that does not answer, to another as ever. */
  prefer(endpoint: string): void
  /** Goes to another endpoint, if there is one: whoever has noticed that this one is deaf says so. */
  moveOn(): void
  close(): Promise<void>
}

export interface MemberStatus {
  readonly endpoint: string
  readonly error?: string
  readonly version?: string
  readonly dbBytes?: number
  readonly dbInUseBytes?: number
  readonly isLeader?: boolean
}

/**
 * `unreachable`: nothing was done (not connected, no leader, too many requests): once more may do. `unknown`: it was sent, and may have been done.
 * `full`: NOSPACE. `refused`: it would fail again (user, rights, malformed). `compacted`.
 */
export type EtcdErrorKind = 'unreachable' | 'unknown' | 'full' | 'refused' | 'compacted'

/** What is refused because of a lease: it is not there (any more), or there is one with that id already. */
export type LeaseTrouble = 'missing' | 'taken'

interface EtcdErrorOptions extends ErrorOptions {
  readonly lease?: LeaseTrouble | undefined
}

export class EtcdError extends Error {
  override readonly name = 'EtcdError'
  readonly kind: EtcdErrorKind
  readonly #lease: LeaseTrouble | undefined

  constructor(kind: EtcdErrorKind, message: string, { lease, ...options }: EtcdErrorOptions = {}) {
    super(message, options)
    this.kind = kind
    this.#lease = lease
  }

  /** A key was to hang off a lease that is not there (any more). */
  get isNoLease(): boolean {
    return this.#lease === 'missing'
  }

  /** A lease was to be granted under an id that another one has: maybe by an earlier call, of which nobody knew the outcome. */
  get isLeaseTaken(): boolean {
    return this.#lease === 'taken'
  }
}
