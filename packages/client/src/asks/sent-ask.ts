import type { Answer, Event, Standing } from '@baton-lock/core'
import { type Place, type ReplyOf, refusalOf } from '@baton-lock/protocol'
import type { ClientParts } from '../client-parts.ts'
import { cleanUp } from '../grants/clean-up.ts'
import type { Interrupt } from '../requests/interrupt.ts'
import { ONLY_HOLD } from '../session/place.ts'
import type { Session, SessionUser } from '../session/session.ts'
import type { StreamListener } from '../session/session-stream.ts'
import type { AskSpec } from './ask-spec.ts'
import type { WaitReport } from './wait-report.ts'

export type AcquireReply = ReplyOf<'acquire'>

/**
 * An ask as the server knows it: one hold id under one session. An ask that goes on under another session or hold id has another of
 * these, so that nothing that is still under way for the old one is taken for the new one.
 */
export class SentAsk implements StreamListener, SessionUser {
  readonly place: Place
  readonly hold: string
  readonly session: Session
  readonly lastingFromMs = Infinity
  /** Something has changed since the last request, or may have. */
  hasNews = false
  readonly #client: ClientParts
  readonly #spec: AskSpec
  readonly #report: WaitReport
  readonly #listenerAt: number
  readonly #userAt: number
  /** It has a final answer, or its session is about to be closed: there is nothing to cancel. */
  #isOver = false
  #wake: (() => void) | undefined
  #answer: AcquireReply | undefined
  #ended: Event | undefined
  #leaveStream: (() => void) | undefined

  constructor(client: ClientParts, spec: AskSpec, session: Session, report: WaitReport) {
    const { namespace, resource, operation, node = client.node } = spec
    this.#client = client
    this.#spec = spec
    this.#report = report
    this.session = session
    this.hold = spec.owner === undefined ? ONLY_HOLD : client.nextName()
    this.place = { namespace, resource, operation, node, owner: spec.owner ?? client.nextName() }
    this.#listenerAt = client.stream.register(this)
    this.#userAt = session.add(this)
  }

  /** The final answer, if the stream has delivered it. It may be older than the last request. */
  get answer(): AcquireReply | undefined {
    return this.#answer
  }

  /** The last end of a grant that the stream has delivered. It may come before the reply with that grant. */
  get ended(): Event | undefined {
    return this.#ended
  }

  /** Waits for news, which come by the stream. `maxMs`: then some may have been lost. */
  async wait(maxMs: number, interrupt: Interrupt): Promise<void> {
    this.#leaveStream ??= this.#client.stream.keepOpen(this.session)
    if (this.hasNews) return
    await interrupt.until((wake) => {
      this.#wake = wake
      return this.#client.clock.after(maxMs, wake)
    })
  }

  /** There is nothing to cancel any more. */
  finish(): void {
    this.#isOver = true
  }

  /** Cancels it, unless it is over. */
  leave(): void {
    if (!this.#isOver) cleanUp<'cancel'>(this.#client, this.session, { type: 'cancel', ...this.place, hold: this.hold })
    this.#isOver = true
    this.#client.stream.unregister(this, this.#listenerAt)
    this.session.remove(this, this.#userAt)
    this.#leaveStream?.()
  }

  onEvent(event: Event): void {
    switch (event.type) {
      case 'queued':
      case 'claimed':
        return
      case 'progress':
        this.#report.progress(event.progress)
        return
      case 'granted':
        if (!event.handOver) return
        this.#report.handedOver()
        break
      case 'ended':
        this.#ended = event
        break
      case 'told':
        // An owner that is used again may get the answer to an earlier ask here: then only another request is sure.
        if (this.#spec.owner === undefined) this.#answer = replyOf(event.answer, this.place.operation)
        break
    }
    this.#changed()
  }

  onState(standing: Standing | undefined): void {
    if (standing?.status === 'queued') this.#report.queued(standing)
    else this.#changed()
  }

  onSilence(): void {
    this.#changed()
  }

  onLasting(): void {}

  onSessionLost(): void {
    this.#changed()
  }

  #changed(): void {
    this.hasNews = true
    this.#wake?.()
    this.#wake = undefined
  }
}

/** The answer of an event, as the reply to the request would have it. */
function replyOf(answer: Answer, operation: string): AcquireReply {
  return answer.status === 'refused' ? refusalOf(answer.code, operation) : answer
}
