import type { AddressedEvent, Command, Facts, Reply } from '@baton-lock/core'

/** One step that a store has taken, in its order: what happened, whatever anybody thinks. */
export interface StepRecord {
  readonly kind: 'step'
  readonly namespace: string
  readonly resource: string
  /** By the clock that counts for this resource: it may be on an axis of its own. */
  readonly nowMs: number
  /** By the clock on the wall, where `nowMs` is on an axis of the resource's own. */
  readonly wallMs?: number
  /** There: whether it has changed the resource. One that has not has not written down what time it was either. */
  readonly isWritten?: boolean
  readonly command: Command
  /** What was known of whoever gave the command. */
  readonly facts?: Facts | undefined
  readonly reply: Reply
  readonly events: readonly AddressedEvent[]
  /** Its place among the steps of its resource, where several processes take them. */
  readonly order?: number
}

/** What a process was answered by a store that it shares: this step was taken, and stays taken. */
export interface AnswerRecord {
  readonly kind: 'answer'
  readonly namespace: string
  readonly resource: string
  readonly nowMs: number
  readonly command: Command
  readonly reply: object
}

/**
 * A session was opened, renewed, or ended: at some moment from `askedMs` to `nowMs`. One that was `asked` for may be opened or
 * renewed at any time since, answer or not; one that is `ending` may have ended at any time since.
 */
export interface SessionRecord {
  readonly kind: 'session'
  readonly nowMs: number
  readonly askedMs: number
  readonly session: string
  readonly what: 'asked' | 'opened' | 'renewed' | 'refused' | 'ending' | 'ended'
  readonly ttlMs: number
}

/** What a client did with a grant, as it saw it itself. */
export interface CallbackRecord {
  readonly kind: 'callback'
  readonly nowMs: number
  readonly what: 'began' | 'ended' | 'lost'
  readonly client: string
  /** One call of `run` or `acquire`. */
  readonly call: number
  readonly resource: string
  readonly operation: string
  readonly owner: string
  readonly fence: number
}

/** How a call of the SDK ended for its caller. */
export interface CallRecord {
  readonly kind: 'call'
  readonly nowMs: number
  readonly client: string
  readonly call: number
  readonly resource: string
  readonly operation: string
  readonly status: 'performed' | 'skipped' | 'thrown'
  readonly fence: number
  readonly error?: string
}

/** A call of the SDK that changes something and has no grant: it may take effect until it is `done`, and for ever where it never is. */
export interface ChangeRecord {
  readonly kind: 'change'
  readonly nowMs: number
  readonly client: string
  readonly call: number
  readonly what: 'began' | 'done'
  readonly type: 'add-reference' | 'release-reference' | 'drop-node' | 'forget' | 'revoke'
  readonly resource: string
  readonly operation: string
  /** Of the reference, or the one that is dropped. */
  readonly node: string
}

/** A client that does not run, or runs again; or one that Baton answers again. */
export interface ClientRecord {
  readonly kind: 'client'
  readonly nowMs: number
  readonly client: string
  readonly what: 'paused' | 'resumed' | 'crashed' | 'reconnected'
}

/** A server that begins, anew or for the first time; what it says of itself. */
export interface ServerRecord {
  readonly kind: 'server'
  readonly nowMs: number
  /**
   * `kept`: so many of the steps that it has taken are durable. `heap`: so many bytes are in use. `deadlock`: its store let
   * such an error out, with this number.
   */
  readonly what: 'started' | 'kept' | 'heap' | 'deadlock'
  readonly count: number
}

/** One thing that happened, or that somebody was told. */
export type HistoryRecord =
  | StepRecord
  | AnswerRecord
  | SessionRecord
  | CallbackRecord
  | CallRecord
  | ChangeRecord
  | ClientRecord
  | ServerRecord
/** Everything that was noted in one run, in its order. */
export type History = readonly HistoryRecord[]

/** A line that a person can read. */
export function describeRecord(record: HistoryRecord): string {
  const at = `${(record.nowMs / 1_000).toFixed(3).padStart(9)}s`
  switch (record.kind) {
    case 'step': {
      const { type, ...command } = record.command
      return `${at} ${record.resource} ${type} ${brief(command)} → ${brief(record.reply)}${record.events.map(({ event }) => `\n${' '.repeat(13)}${event.type} ${brief({ ...event, type: undefined })}`).join('')}`
    }
    case 'answer':
      return `${at} ${record.resource} ${record.command.type} was answered ${brief(record.reply)}`
    case 'session':
      return `${at} session ${record.session.slice(0, 8)} ${record.what}`
    case 'client':
      return `${at} ${record.client} ${record.what}`
    case 'server':
      return `${at} server ${record.what} ${record.count}`
    case 'callback':
      return `${at} ${record.client} call ${record.call} callback ${record.what} ${record.operation} ${record.resource} fence ${record.fence}`
    case 'change':
      return `${at} ${record.client} call ${record.call} ${record.type} ${record.what} ${record.operation} ${record.resource} ${record.node}`
    case 'call':
      return `${at} ${record.client} call ${record.call} ${record.status} ${record.operation} ${record.resource} fence ${record.fence} ${record.error ?? ''}`
  }
}

function brief(value: object): string {
  const short = (each: unknown) => (typeof each === 'string' && /^[0-9a-f-]{20,}$/.test(each) ? each.slice(0, 6) : each)
  return JSON.stringify(value, (_, each) => short(each)).replaceAll('"', '')
}
