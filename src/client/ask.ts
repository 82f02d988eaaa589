import type { Answer, Json, Queued, Skip, Standing } from '../core/index.ts'
import { errorBody, type ReplyOf } from '../protocol/index.ts'
import { type AskSpec, acquireRequest } from './ask-spec.ts'
import { Backoff } from './backoff.ts'
import { cancelAsk } from './cancel-ask.ts'
import { abortable, pause } from './clock.ts'
import { BatonError, FailedForGoodError, RefusedError, refusedError, UnavailableError } from './errors.ts'
import { HeldGrant } from './held-grant.ts'
import type { Patience } from './patience.ts'
import type { Place } from './place.ts'
import type { Session } from './session.ts'
import type { OwnEvent, StreamListener } from './session-stream.ts'
import type { InputOf } from './transport.ts'
import type { Closable, Wiring } from './wiring.ts'

type AcquireReply = ReplyOf<'acquire'>

/** Refusals of this hold id, not of the ask, which goes on with another one. */
const ASK_ANEW = new Set(['passed-over', 'hold-ended', 'cancelled', 'session-lost'])

/** Being granted ends the wait limit: a claim under way gets this much longer. */
const CLAIM_GRACE_MS = 5_000

/** One ask, from its first try to its grant or its final answer. When it is given up it leaves nothing behind. */
export class Ask implements StreamListener, Closable {
  readonly #wiring: Wiring
  readonly #spec: AskSpec
  readonly #patience: Patience
  readonly #setbacks: Backoff
  readonly #end = new AbortController()
  readonly #startMs: number
  #place: Place
  #hold: string
  #session: Session | undefined
  #undo: (() => void)[] = []
  /** What ties it to the present session and hold. */
  #ties: (() => void)[] = []
  /** A try was sent with this hold id, and what became of it is not known to be over. */
  #open = false
  #inLine = false
  #claiming = false
  #unanswered: UnavailableError | undefined
  #position = 0
  /** The last that was told. */
  #progress = ''
  #told: Answer | undefined
  #awake = false
  #wake = () => {}
  #needsStream = false

  constructor(wiring: Wiring, spec: AskSpec, patience: Patience) {
    this.#wiring = wiring
    this.#spec = spec
    this.#patience = patience
    this.#setbacks = new Backoff(wiring.random)
    this.#startMs = wiring.clock.monoMs()
    this.#hold = wiring.random.id()
    this.#place = this.#newPlace()
  }

  get place(): Place {
    return this.#place
  }

  /** Throws whatever ends it without a grant or a skip; `UnavailableError` where nobody answered for too long. */
  async settle(): Promise<HeldGrant | Skip> {
    this.#begin()
    try {
      for (;;) {
        const reply = this.#takeTold() ?? (await this.#send())
        const settled = this.#judge(reply)
        if (settled) return settled
        if (reply.status === 'queued') await this.#wait()
        else await pause(this.#wiring.clock, this.#setbacks.nextMs(), this.#end.signal)
      }
    } catch (error) {
      this.#cancel()
      throw error
    } finally {
      for (const act of [...this.#undo, ...this.#ties]) act()
      this.#wiring.open.delete(this)
    }
  }

  /** The client closes: its session goes, and this ask with it. */
  close(): void {
    this.#open = false
    this.#end.abort(new BatonError('closed', 'the client was closed'))
  }

  onEvent(event: OwnEvent): void {
    if (event.type === 'queued' || event.type === 'claimed') return
    if (event.type === 'progress') {
      this.#heardProgress(event.progress)
      return
    }
    if (event.type === 'granted') {
      if (!event.handOver) return
      this.#claiming = true
    }
    // An owner that others share may have been told this in an earlier ask: then only asking again is sure.
    if (event.type === 'told' && this.#spec.owner === undefined) this.#told = event.answer
    this.#rouse()
  }

  onState(standing: Standing | undefined): void {
    if (standing?.status === 'queued') this.#queuedAt(standing)
    else this.#rouse()
  }

  onSilence(): void {
    this.#rouse()
  }

  #begin(): void {
    const { clock, open } = this.#wiring
    const { signal } = this.#spec
    open.add(this)
    const abort = () =>
      this.#end.abort(new BatonError('aborted', 'the ask was given up by its caller', { cause: signal?.reason }))
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    this.#undo = [clock.stayAwake(), () => signal?.removeEventListener('abort', abort)]
    if (this.#patience.waitMs !== 0) this.#watchPatience()
  }

  #watchPatience(): void {
    const leftMs = this.#patience.leftMs()
    if (leftMs === Infinity) return
    // A timer may be shorter than what it is asked for, so what is left is looked at once more.
    const look = () => (this.#patience.isOver() ? this.#waitOver() : this.#watchPatience())
    this.#undo.push(this.#wiring.clock.after(leftMs, look))
  }

  #waitOver(): void {
    if (!this.#inLine) return
    if (this.#claiming)
      this.#undo.push(this.#wiring.clock.after(CLAIM_GRACE_MS, () => this.#end.abort(this.#tooLate())))
    else this.#end.abort(this.#tooLate())
  }

  #tooLate(): BatonError {
    return this.#unanswered ?? new RefusedError('wait-over', 'the wait limit is over; ask again or wait longer')
  }

  /** Asks until there is an answer: the same hold id every time, so that a try whose reply was lost counts once. */
  async #send(): Promise<AcquireReply> {
    const { clock, contact, random, sessions } = this.#wiring
    const { signal } = this.#end
    const backoff = new Backoff(random)
    for (;;) {
      if (this.#inLine && !this.#claiming && this.#patience.isOver()) throw this.#tooLate()
      const leftMs = () => this.#patience.unansweredLeftMs({ inLine: this.#inLine, askedAtMs: this.#startMs })
      try {
        const session = await abortable(sessions.alive(), signal)
        signal.throwIfAborted()
        this.#tieTo(session)
        this.#awake = false
        this.#open = true
        const options = { signal, tries: backoff.tries, timeoutMs: Math.max(1, leftMs()) }
        const reply = await contact.try<'acquire'>(this.#request(session), options)
        this.#unanswered = undefined
        return reply
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        this.#unanswered = error
        const delayMs = backoff.nextMs()
        if (delayMs >= leftMs()) throw error
        await pause(clock, delayMs, signal)
      }
    }
  }

  #request(session: Session): InputOf<'acquire'> {
    const place = { ...this.#place, hold: this.#hold, session: session.id }
    return acquireRequest(place, this.#spec, this.#patience)
  }

  /** The grant or the skip, or nothing where it goes on. */
  #judge(reply: AcquireReply): HeldGrant | Skip | undefined {
    this.#claiming = false
    if (reply.status === 'queued') {
      // Another ask of the same owner stands in line; this one does not.
      if (this.#patience.waitMs === 0 || this.#spec.queueing === false) throw refusedError(errorBody('busy'))
      this.#inLine = true
      this.#queuedAt(reply)
      return undefined
    }
    const session = this.#session!
    if (reply.status === 'granted') {
      if (session.isAlive()) {
        this.#open = false
        const start = { place: this.#place, hold: this.#hold, session, reply, waited: this.#inLine }
        return new HeldGrant(this.#wiring, start)
      }
      this.#askAnew()
      return undefined
    }
    this.#open = false
    if (reply.status === 'skip') return reply
    if (reply.status === 'failed') throw new FailedForGoodError(reply)
    if (!ASK_ANEW.has(reply.code)) throw refusedError(reply)
    if (reply.code === 'session-lost') session.lose('the session has ended')
    this.#askAnew()
    return undefined
  }

  async #wait(): Promise<void> {
    const { clock, random, stream, trustMs } = this.#wiring
    if (!this.#needsStream && this.#session) {
      this.#needsStream = true
      this.#ties.push(stream.keepOpen(this.#session))
    }
    this.#setbacks.reset()
    if (this.#awake) return
    if (this.#patience.isOver()) throw this.#tooLate()
    // Not polling: the stream tells. Should an event be lost on the way nevertheless (a proxy that swallows them, a
    // server that stalls), this is what ends the wait, once or twice in the life of a lease where that can happen.
    const againMs = Math.min(trustMs * (0.5 + random.fraction() / 2), this.#spec.placeEveryMs ?? Infinity)
    const cancel = clock.after(againMs, () => this.#rouse())
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    await abortable(woken, this.#end.signal).finally(cancel)
  }

  #rouse(): void {
    this.#awake = true
    this.#wake()
  }

  #takeTold(): AcquireReply | undefined {
    const told = this.#told
    this.#told = undefined
    return told?.status === 'refused' ? errorBody(told.code) : told
  }

  #queuedAt({ position, progress }: Queued): void {
    if (position !== this.#position) {
      this.#position = position
      this.#tell(() => this.#spec.onQueued?.(position))
    }
    if (progress !== undefined) this.#heardProgress(progress)
  }

  #heardProgress(progress: Json): void {
    const text = JSON.stringify(progress)
    if (text === this.#progress) return
    this.#progress = text
    this.#tell(() => this.#spec.onProgress?.(progress))
  }

  /** What a caller's own callback throws ends its ask. */
  #tell(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#end.abort(error)
    }
  }

  /** Under another session it is another ask: the place of the old one goes with the old session. */
  #tieTo(session: Session): void {
    if (session === this.#session) return
    if (this.#session) this.#askAnew()
    this.#session = session
    this.#ties = [this.#wiring.stream.register(this), session.use(), session.onLost(() => this.#rouse())]
  }

  #askAnew(): void {
    this.#cancel()
    for (const act of this.#ties.splice(0)) act()
    this.#session = undefined
    this.#needsStream = false
    this.#told = undefined
    this.#claiming = false
    this.#hold = this.#wiring.random.id()
    this.#place = this.#newPlace()
  }

  #cancel(): void {
    if (this.#open && this.#session) {
      cancelAsk(this.#wiring, { place: this.#place, hold: this.#hold, session: this.#session })
    }
    this.#open = false
  }

  #newPlace(): Place {
    const { namespace, resource, operation, owner, node = this.#wiring.node } = this.#spec
    return { namespace, resource, operation, node, owner: owner ?? this.#wiring.random.id() }
  }
}
