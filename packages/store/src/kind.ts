import type { Policy } from '@baton-lock/core'
import type { StepTaken } from './resident/resident.ts'
import type { Clock, Store } from './store.ts'

/** The log of a store: a sentence, and its values. */
export interface StoreLog {
  warn(sentence: string, fields?: Readonly<Record<string, unknown>>): void
}

/** `left`: closed by its client; `lost`: expired, with all of its places. */
type SessionChange = 'opened' | 'left' | 'lost'

/** A store that was opened. */
export interface StoreFound {
  /** Where it is, without credentials. */
  readonly at: string
  /** It was created now. */
  readonly isNew: boolean
}

/** What every kind of store is opened with. */
export interface OpenStoreOptions {
  /** The clock of the store, unless it has one of its own. */
  readonly clock: Clock
  /** The policy of a new store. Default: the built-in one. */
  readonly policy?: Policy
  /** Whether `policy` was configured. Processes that share a store have to have the same one configured. */
  readonly isPolicyChosen?: boolean
  /** Default: none. */
  readonly log?: StoreLog
  /** Called when the store was opened. */
  readonly onFound?: (found: StoreFound) => void
  /** Called with every session that this process opens or ends. */
  readonly onSession?: ((session: string, change: SessionChange) => void) | undefined
  /**
   * Called with every step, for the checkers of histories. A store that several processes share records its steps itself instead. One
   * that can do neither has to refuse, in a sentence.
   */
  readonly onStep?: (step: StepTaken) => void
  /** False, for tests only: a file store does not sync, and may lose what it has acknowledged. */
  readonly sync?: boolean
}

/** The state of a store. */
export interface CheckReport {
  readonly isSound: boolean
  /** Sentences. */
  readonly findings: readonly string[]
}

/** A backup as a server sends it. */
export interface Backup {
  /** How long it is. */
  readonly bytes: number
  /** To be read to its end, or ended by `return`: it has a file open. */
  readonly chunks: Required<Pick<AsyncIterableIterator<Uint8Array>, 'next' | 'return'>> & AsyncIterable<Uint8Array>
}

/** A store that writes a backup of itself while it is open. */
export interface BackedUp {
  /** Has everything that was acknowledged before the call. Resolves once it is written. */
  backup(): Promise<Backup>
}

/** Whether a store can do so. Those that several processes share are backed up by their own means. */
export function isBackedUp(store: object): store is BackedUp {
  return 'backup' in store
}

interface StoreRestore {
  /** The file of a backup. */
  readonly from: string
  readonly nowMs: number
  /** Moves what is there aside. */
  readonly force?: boolean
  /** The store is to run beside the original, with an id of its own. */
  readonly asCopy?: boolean
  /** How far fences are raised. Default: far enough. */
  readonly by?: number
}

/**
 * Each store exports one as `kind`; its row in `store-table.ts` of baton-lock says how it is loaded. An error in the URL is
 * thrown as a `TypeError`, an error of the store as a `StoreUnavailable` (`StoreUnreachable` if it may come back by itself): a
 * sentence that says what to do. All but `open` and `check` return what they did, as sentences.
 */
export interface StoreKind {
  open(url: string, options: OpenStoreOptions): Promise<Store>
  /** Says how a store is, and changes nothing. */
  check(url: string): Promise<CheckReport>
  /** Fences go on so far above all that are known of, for a store that was restored by other means. Default: far enough. */
  raiseFences(url: string, options: { readonly by?: number }): Promise<readonly string[]>
  /** Writes a store that no server has open to a file. A store that is backed up by other means says how, as a `TypeError`. */
  backup(url: string, options: { readonly to: string }): Promise<readonly string[]>
  /** Makes a store of a backup, and raises its fences. */
  restore(url: string, options: StoreRestore): Promise<readonly string[]>
  /** Makes a store if there is none yet, as the first start would. `print`: only says what that takes. */
  create(url: string, options: { readonly print: boolean }): Promise<readonly string[]>
}
