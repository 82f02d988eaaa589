/** A fact that keeps a queue from going on, or says how long that may still take. */
export type WaitReason =
  /** Somebody does the work; `usualMs`: how long that usually takes, where enough of it was seen. */
  | {
      readonly why: 'held'
      readonly operation: string
      readonly node: string
      readonly fence: number
      readonly forMs: number
      readonly usualMs?: number
    }
  /** The next in line has been granted, and has not said yet that it is there. */
  | { readonly why: 'unclaimed'; readonly operation: string; readonly node: string; readonly passesOnInMs: number }
  /** The holder has not renewed its lease for longer than a client lets pass; it runs out unless it does. */
  | { readonly why: 'silent'; readonly node: string; readonly forMs: number; readonly expiresInMs: number }
  /** The last attempt failed, and the retry delay is not over. */
  | { readonly why: 'paused'; readonly operation: string; readonly forMs: number; readonly attempt: number }
  /**
   * Clients wait for one another: each holds what the one before it in the list waits for, and the first what the last one waits for.
   * Not `certain` where a client may do the two in tasks that have nothing to do with one another: its owners tell. `forMs`: for so
   * long all of them have waited.
   */
  | { readonly why: 'cycle'; readonly links: readonly CycleLink[]; readonly certain: boolean; readonly forMs: number }

/** One client of a cycle: what it holds, and what it waits for, all in one namespace. */
export interface CycleLink {
  readonly node: string
  readonly holds: { readonly operation: string; readonly resource: string; readonly fence: number }
  readonly waitsFor: { readonly operation: string; readonly resource: string }
}

/** Why the queue of one operation waits, and how many stand in it: whoever is nth also stands behind n - 1 others. */
export interface QueueWait {
  readonly operation: string
  readonly waiting: number
  readonly reasons: readonly WaitReason[]
}
