import type {
  AcquireReply,
  CancelReply,
  ChangedReply,
  DoneReply,
  ForgetReply,
  Json,
  ProgressReply,
  ReferencesReply,
  ReleaseReply,
  RenewReply,
  ReportedOutcome,
  RevokeReply,
} from './reply.ts'

/*
 * `release`, `renew`, `cancel` and `progress` may name a node; where they do not, they reach the actors of the nodes that the
 * asker may act for.
 */

/** Ask for a grant, ask again, or claim one that was given to a waiter: all of these are the same command. */
export interface Acquire {
  readonly type: 'acquire'
  readonly operation: string
  readonly node: string
  readonly owner: string
  /** Chosen by the asker. The same hold id again adds nothing: a retry, or a claim. */
  readonly hold: string
  /** The session that keeps the hold alive; without one it has an implicit session of `ttlMs`. */
  readonly session?: string
  readonly ttlMs: number
  /** The implicit ttl of a place in line where it differs from that of the grant. */
  readonly placeTtlMs?: number
  /** How long to stand in line at most; absent sets no limit. */
  readonly waitMs?: number
  readonly revision?: string
  /** The fence of a success that the asker found untrue, and of all before it. */
  readonly disbelieve?: number
  /** The asker has seen for itself that the work is there: it skips, and is referenced like any that skip. */
  readonly verified?: boolean
  /** The asker will check for itself before it believes a skip: only its `verified` ask references the node. */
  readonly verifies?: boolean
  /** False: neither a success nor a skip adds the node to the references. */
  readonly reference?: boolean
  /** Drop the node's own reference in the same step, whatever the answer is. */
  readonly dropReference?: boolean
  readonly queueing?: boolean
  /**
   * It came by the classic paths: an operation that no row names does its work once, and what the asker itself holds under
   * another operation is waited for.
   */
  readonly classic?: boolean
}

/** The holder lets go of a hold, and says how the work ended. */
export type Release = {
  readonly type: 'release'
  readonly operation: string
  readonly node?: string
  readonly owner: string
  readonly hold: string
  /** Absent only on the classic paths, which do not know it. */
  readonly fence?: number
} & ReportedOutcome

/** Renew the implicit session of an actor on a key: its grant, or its place in line. */
export interface Renew {
  readonly type: 'renew'
  readonly operation: string
  readonly node?: string
  readonly owner: string
  /** Needed to renew a grant, so that a stalled holder does not renew its successor's. */
  readonly fence?: number
}

/** Take an ask back, whatever has become of it: a place in line, a grant not yet claimed, a hold. */
export interface Cancel {
  readonly type: 'cancel'
  readonly operation: string
  readonly node?: string
  readonly owner: string
  readonly hold: string
}

/** An operator ends a grant. */
export interface Revoke {
  readonly type: 'revoke'
  readonly operation: string
  /** Who revokes, for the holder and the next one. */
  readonly by?: string | undefined
  /** Revoke only this grant, not one that has come since. */
  readonly fence?: number
}

/** Drop the success that is kept of an operation: whoever asks next does the work again. */
export interface Forget {
  readonly type: 'forget'
  readonly operation: string
  /** Only a success with this fence or a lower one: a late copy does not forget a newer one. */
  readonly fence?: number | undefined
}

/** The holder says how far it is. */
export interface Progress {
  readonly type: 'progress'
  readonly operation: string
  readonly node?: string
  readonly owner: string
  readonly fence: number
  readonly progress: Json
}

/** Nothing but the deadlines that are due. */
interface Expire {
  readonly type: 'expire'
}

/** The store was away, and nobody could renew: leases begin anew. Stores say this, clients cannot. */
interface Recover {
  readonly type: 'recover'
}

/** These askers, who share a hold id with others, have heard their answer on a stream: it is not given again. */
export interface Heard {
  readonly type: 'heard'
  readonly askers: readonly HeardAsker[]
}

/** One who has heard its answer. */
export interface HeardAsker {
  readonly operation: string
  readonly node?: string | undefined
  readonly owner: string
  /** Of the answer that was heard: another one, that has come since, is still to be given. */
  readonly fence: number
}

/** This ask has ended and its asker knows how: nothing of it comes again, and it need not be remembered. */
export interface Acknowledge {
  readonly type: 'acknowledge'
  readonly operation: string
  readonly node?: string | undefined
  readonly owner: string
  readonly hold: string
}

/** The session is gone: its holds or its places under this key and owner go with it. */
export interface SessionLost {
  readonly type: 'session-lost'
  readonly session: string
  readonly operation: string
  /** Absent: whichever nodes they are of. */
  readonly node?: string
  readonly owner: string
}

/** The session gives this place up: nobody knows of it any more. */
export interface Leave extends Omit<SessionLost, 'type'> {
  readonly type: 'leave'
  /** Its client has closed it, and gives up all of its places. */
  readonly closed?: boolean | undefined
}

/** A node uses the resource. */
export interface AddReference {
  readonly type: 'add-reference'
  readonly node: string
  /** Only if no reference has gone since this number: a late copy does not bring back what was released. */
  readonly seen?: number | undefined
}

/** A node uses the resource no longer. */
export interface ReleaseReference {
  readonly type: 'release-reference'
  readonly node: string
  /** Only if the node has not said since this number that it uses the resource: a late copy does not undo that. */
  readonly seen?: number | undefined
}

/** The node is dead: its reference goes, and the kept successes that it performed. */
export interface DropNode {
  readonly type: 'drop-node'
  readonly node: string
}

/** All that can be said to a resource. */
export type Command =
  | Acquire
  | Release
  | Renew
  | Cancel
  | Revoke
  | Forget
  | Progress
  | Heard
  | Acknowledge
  | Expire
  | Recover
  | SessionLost
  | Leave
  | AddReference
  | ReleaseReference
  | DropNode

interface Replies {
  acquire: AcquireReply
  release: ReleaseReply
  renew: RenewReply
  cancel: CancelReply
  revoke: RevokeReply
  forget: ForgetReply
  progress: ProgressReply
  heard: DoneReply
  acknowledge: DoneReply
  expire: DoneReply
  recover: DoneReply
  'session-lost': DoneReply
  leave: DoneReply
  'add-reference': ReferencesReply | ChangedReply
  'release-reference': ReferencesReply | ChangedReply
  'drop-node': ReferencesReply
}

/** What a command is answered. */
export type ReplyTo<C extends Command> = Replies[C['type']]
/** What any command is answered. */
export type Reply = Replies[keyof Replies]
