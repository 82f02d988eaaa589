import type { Answer, Queued, Standing } from '../core/index.ts'
import { errorBody, type ReplyOf } from '../protocol/index.ts'
import { type AskSpec, acquireRequest } from './ask-spec.ts'
import { cancelAsk } from './cancel-ask.ts'
import type { Interrupt } from './interrupt.ts'
import type { Patience } from './patience.ts'
import { ONLY_HOLD, type Place } from './place.ts'
import type { Session, SessionUser } from './session.ts'
import type { OwnEvent, StreamListener } from './session-stream.ts'
import type { InputOf } from './transport.ts'
import type { WaitReport } from './wait-report.ts'
import type { Wiring } from './wiring.ts'

export type AcquireReply = ReplyOf<'acquire'>

/** Whose ask it is. */
interface Reporter {
  /** Tells the caller how its ask stands. Made when there is something to tell. */
  readonly report: WaitReport
  /** It sleeps, and its turn has come. */
  handedOver(sent: SentAsk): void
}

/** Where it stands with the server, as far as is known here. */
type Stage =
  /** It may be in line, be granted, or not even have arrived: to give it up is to cancel it. */
  | 'open'
  /** As `open`, and its turn has come: what is sent now is the claim. */
  | 'handed-over'
  /** Nothing of it is left to cancel. */
  | 'over'

/** Whether the stream has said anything of it since the last request was sent. */
type News =
  | { readonly is: 'none' }
  /** None, and the ask sleeps until there is some. */
  | { readonly is: 'awaited'; readonly wake: () => void }
  /** Something has changed, or may have. */
  | { readonly is: 'there' }

/**
 * An ask as the server knows it: one hold id under one session. Where it goes on under another session or hold id it is
 * another ask, and another one of these: what is still under way of the old one cannot be taken for the new one's.
 *
 *     stage   open ── its turn has come ──▶ handed-over ── but the reply is `queued` ──▶ open
 *             open, handed-over ── final reply, cancelled, client closed ──▶ over
 *
 *     news    none ── sleep ──▶ awaited
 *             none, awaited ── event ──▶ there ── next request ──▶ none
 */
export class SentAsk implements StreamListener, SessionUser {
  readonly place: Place
  readonly hold: string
  readonly session: Session
  readonly #wiring: Wiring
  readonly #spec: AskSpec
  readonly #reporter: Reporter
  readonly #listenerAt: number
  readonly #userAt: number
  readonly lastingFromMs = Infinity
  #stage: Stage = 'open'
  #news: News = { is: 'none' }
  /** The final answer as the stream told it: apart from the news, as it may be older than the last request. */
  #answer: AcquireReply | undefined
  #ended: OwnEvent | undefined
  #leaveStream: (() => void) | undefined

  constructor(
    wiring: Wiring,
    { spec, session, reporter }: { readonly spec: AskSpec; readonly session: Session; readonly reporter: Reporter },
  ) {
    const { namespace, resource, operation, node = wiring.node } = spec
    this.#wiring = wiring
    this.#spec = spec
    this.#reporter = reporter
    this.session = session
    this.hold = spec.owner === undefined ? ONLY_HOLD : wiring.nextName()
    this.place = { namespace, resource, operation, node, owner: spec.owner ?? wiring.nextName() }
    this.#listenerAt = wiring.stream.register(this)
    this.#userAt = session.add(this)
  }

  get isHandedOver(): boolean {
    return this.#stage === 'handed-over'
  }

  get hasNews(): boolean {
    return this.#news.is === 'there'
  }

  /** The final answer, where the stream has told it. */
  get answer(): AcquireReply | undefined {
    return this.#answer
  }

  /** The last end of a grant that the stream has told: it may come before the reply that says that it was granted. */
  get ended(): OwnEvent | undefined {
    return this.#ended
  }

  /** Asks, asks again, or claims: the same hold id every time, so that a request whose reply was lost counts once. */
  nextRequest(patience: Patience): InputOf<'acquire'> {
    this.#news = { is: 'none' }
    return acquireRequest(this.place, { hold: this.hold, session: this.session.id, spec: this.#spec, patience })
  }

  /** The reply is that it stands in line, whatever the stream said before. */
  queued(reply: Queued): void {
    if (this.#stage === 'handed-over') this.#stage = 'open'
    this.#reporter.report.queued(reply)
  }

  /** From now on the stream is kept open for it. */
  listen(): void {
    this.#leaveStream ??= this.#wiring.stream.keepOpen(this.session)
  }

  /** Until there is news, or for so long: then there may be some that was lost. */
  sleep(maxMs: number, interrupt: Interrupt): Promise<void> {
    return interrupt.until((wake) => {
      this.#news = { is: 'awaited', wake }
      return this.#wiring.clock.after(maxMs, () => this.#changed())
    })
  }

  /** Nothing of it is left to cancel: it is answered for good, or its session is about to be closed. */
  finish(): void {
    this.#stage = 'over'
  }

  /** Cancels it unless it is over, and lets go of the session and the stream. */
  leave(): void {
    if (this.#stage !== 'over') cancelAsk(this.#wiring, this)
    this.#stage = 'over'
    this.#wiring.stream.unregister(this, this.#listenerAt)
    this.session.remove(this, this.#userAt)
    this.#leaveStream?.()
  }

  onEvent(event: OwnEvent): void {
    switch (event.type) {
      case 'queued':
      case 'claimed':
        return
      case 'progress':
        this.#reporter.report.progress(event.progress)
        return
      case 'granted':
        if (!event.handOver) return
        if (this.#stage === 'open') this.#stage = 'handed-over'
        this.#spec.trace?.handedOver()
        // Not here: in process this is told in the middle of a step.
        if (this.#news.is === 'awaited') queueMicrotask(() => this.#reporter.handedOver(this))
        break
      case 'ended':
        this.#ended = event
        break
      case 'told':
        // An owner that others share may have been told this in an earlier ask: then only asking again is sure.
        if (this.#spec.owner === undefined) this.#answer = replyOf(event.answer)
        break
    }
    this.#changed()
  }

  onState(standing: Standing | undefined): void {
    if (standing?.status === 'queued') this.#reporter.report.queued(standing)
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
    const before = this.#news
    this.#news = { is: 'there' }
    if (before.is === 'awaited') before.wake()
  }
}

/** What the stream tells, as a reply to the request would say it. */
function replyOf(answer: Answer): AcquireReply {
  return answer.status === 'refused' ? errorBody(answer.code) : answer
}
