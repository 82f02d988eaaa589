import type { Policy } from '../core/index.ts'
import type { StepTaken } from './resident/resident.ts'
import type { Clock, Store } from './store.ts'

/** Where a store tells an operator something: a sentence, and the values that belong to it. */
export interface StoreLog {
  warn(sentence: string, fields?: Readonly<Record<string, unknown>>): void
}

/** What becomes of a session: its client has left it, or it was lost with all that hung off it. */
type SessionChange = 'opened' | 'left' | 'lost'

/** What a store was found to be when it was opened. */
export interface StoreFound {
  /** Where it is, without credentials. */
  readonly at: string
  /** It was made just now. */
  readonly isNew: boolean
}

/** What every kind of store is opened with. */
export interface OpenStoreOptions {
  /** The clock that counts, unless the store has one of its own. */
  readonly clock: Clock
  /** What a new store begins with. Default: the built-in one. */
  readonly policy?: Policy
  /** Whether somebody has chosen `policy`: processes that share a store have to agree on what was chosen. */
  readonly isPolicyChosen?: boolean
  /** Default: nowhere. */
  readonly log?: StoreLog
  /** Told once it is known. */
  readonly onFound?: (found: StoreFound) => void
  /** Told of every session that this process opens or ends, where somebody wants to know. */
  readonly onSession?: ((session: string, change: SessionChange) => void) | undefined
  /**
   * Told of every step as it is taken: for those who check histories. A store that several processes share writes its
   * steps down itself instead; one that can do neither has to refuse, in a sentence.
   */
  readonly onStep?: (step: StepTaken) => void
  /** False, for tests only: a store of files does not wait for the disk, and may lose what it has acknowledged. */
  readonly sync?: boolean
}

/** How a store is. */
export interface CheckReport {
  readonly isSound: boolean
  /** What was found, a sentence each. */
  readonly findings: readonly string[]
}

/** Where a backup goes. */
interface StoreBackup {
  readonly to: string
  /** By the clock on the wall, for its name. */
  readonly nowMs: number
}

/** Where a backup comes from, and what becomes of it. */
interface StoreRestore {
  readonly from: string
  readonly nowMs: number
  /** Puts aside what is there. */
  readonly force?: boolean
  /** It is to be a store beside the original, and not that one again. */
  readonly asCopy?: boolean
  /** How far fences are raised. Default: far enough. */
  readonly by?: number
}

/**
 * What the folder of a store has in its `kind.ts`, exported as `kind`; its row in `table.ts` says how that is loaded.
 * What is wrong with the URL is thrown as a `TypeError`, what is wrong with the store as a `StoreUnavailable`
 * (`StoreUnreachable` where it may come back by itself): a sentence that says what to do. All but `open` and `check` say what
 * they did, a sentence each.
 */
export interface StoreKind {
  open(url: string, options: OpenStoreOptions): Promise<Store>
  /** Says how a store is, and changes nothing. */
  check(url: string): Promise<CheckReport>
  /** Goes on without what is damaged. */
  repair(url: string): Promise<readonly string[]>
  /** Fences go on so far above all that are known of, for a store that was restored from a copy. Default: far enough. */
  raiseFences(url: string, options: { readonly by?: number }): Promise<readonly string[]>
  /** Copies a store, which servers may have open, to a directory. A store that is backed up by other means says how, as a `TypeError`. */
  backup(url: string, options: StoreBackup): Promise<readonly string[]>
  /** Makes a store of a backup where none is, and raises its fences. */
  restore(url: string, options: StoreRestore): Promise<readonly string[]>
  /** Brings a store to the format of this version. `print`: only says what that takes. */
  migrate(url: string, options: { readonly print: boolean }): Promise<readonly string[]>
}
