import type { Timing } from '@baton-lock/store/timing'
import { EtcdError, type Keys, type WatchEvent, type Watched } from '../etcd.ts'
import { CALL_MS, type Calls, type Line } from './calls.ts'
import type { Stream } from './connection.ts'
import { Late } from './failures.ts'
import { type Int64, numberOf } from './messages.ts'
import { afterListening } from './patience.ts'
import { type WatchRequest, type WatchResponse, watchRpc } from './rpcs.ts'
import { keyValueOf } from './txn-messages.ts'

/** A member that was asked to cancel a watch has so much time to say that it did. */
const CANCEL_MS = 500
const DELETE = 1

interface WatchOptions {
  readonly keys: Keys
  readonly fromRevision: number
  readonly watched: Watched
  /** It is over, and so is its stream. */
  onEnd(): void
}

/** A watch on a stream of its own. */
export class Watch {
  readonly #calls: Calls
  readonly #timing: Timing
  readonly #options: WatchOptions
  /** Nobody once it is over or cancelled. */
  #watched: Watched | undefined
  #line: Line | undefined
  #stream: Stream<WatchRequest, WatchResponse> | undefined
  #id: Int64 | undefined
  #fragments: WatchEvent[] = []
  #cancelTimer = () => {}
  #forget = () => {}

  constructor(calls: Calls, timing: Timing, options: WatchOptions) {
    this.#calls = calls
    this.#timing = timing
    this.#options = options
    this.#watched = options.watched
  }

  async begin(): Promise<void> {
    try {
      const line = this.#calls.line() ?? (await this.#calls.open())
      if (this.#watched) this.#beginOn(line)
      else this.#close()
    } catch (error) {
      this.#end('lost', error as EtcdError)
    }
  }

  /** Nothing is told any more. The member is asked to cancel it: just to end the stream would leave it to find out by itself. */
  cancel(): void {
    if (!this.#watched) return
    this.#watched = undefined
    this.#forget()
    this.#cancelTimer()
    this.#cancelTimer = this.#timing.after(CANCEL_MS, () => this.#close())
    if (this.#id !== undefined) this.#stream?.write({ cancel: { watchId: this.#id } })
  }

  #beginOn(line: Line): void {
    const { connection, pass } = line
    const stream = connection.stream(watchRpc, pass.metadata)
    this.#line = line
    this.#stream = stream
    this.#forget = connection.onEnd((why) => this.#lost(why))
    this.#cancelTimer = afterListening(this.#timing, CALL_MS, () => this.#lost(new Late()))
    stream.on('data', (response) => this.#heard(response))
    stream.on('error', (error) => this.#lost(error))
    stream.on('end', () => this.#lost(new Error('the stream has ended')))
    const { keys, fromRevision: startRevision } = this.#options
    const { key, end: rangeEnd } = keys
    stream.write({ create: { key, rangeEnd, startRevision, progressNotify: true, fragment: true } })
  }

  #heard(response: WatchResponse): void {
    if (response.canceled) this.#cancelled(response)
    else if (response.created) this.#created(response)
    else this.#told(response)
  }

  #created({ watchId, header }: WatchResponse): void {
    this.#id = watchId
    if (!this.#watched) {
      // It was cancelled before it had begun.
      this.#stream!.write({ cancel: { watchId } })
      return
    }
    this.#cancelTimer()
    // Of what has happened since the revision from which on it watches, events are still to come.
    const { fromRevision } = this.#options
    this.#watched.progress(fromRevision > 0 ? fromRevision - 1 : numberOf(header.revision))
  }

  #told({ events, fragment, header }: WatchResponse): void {
    for (const { type, kv } of events) {
      this.#fragments.push({ type: type === DELETE ? 'delete' : 'put', kv: keyValueOf(kv) })
    }
    if (fragment) return
    const all = this.#fragments
    this.#fragments = []
    // The revision of the response may be beyond what is still to be told: that of the last event is not.
    if (all.length > 0) this.#watched?.events(all, all.at(-1)!.kv.modRevision)
    else this.#watched?.progress(numberOf(header.revision))
  }

  #cancelled({ compactRevision, cancelReason }: WatchResponse): void {
    const revision = numberOf(compactRevision)
    const forgotten = `etcd has forgotten what was before revision ${revision}`
    if (revision > 0) this.#end('compacted', new EtcdError('compacted', forgotten))
    else this.#lost(new Error(cancelReason || 'etcd has cancelled the watch'))
  }

  #lost(error: unknown): void {
    const line = this.#line!
    this.#forget()
    if (this.#watched) this.#calls.failed(line, error)
    this.#end('lost', this.#calls.errorOf(error, line.connection))
  }

  #end(why: 'compacted' | 'lost', error: EtcdError): void {
    const watched = this.#watched
    this.#watched = undefined
    this.#close()
    watched?.ended(why, error)
  }

  #close(): void {
    this.#forget()
    this.#cancelTimer()
    this.#stream?.cancel()
    this.#options.onEnd()
  }
}
