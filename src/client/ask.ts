import type { Skip } from '../core/index.ts'
import { errorBody } from '../protocol/index.ts'
import type { AskSpec } from './ask-spec.ts'
import { Backoff } from './backoff.ts'
import { onAbort } from './clock.ts'
import { BatonError, FailedForGoodError, RefusedError, refusedError, UnavailableError } from './errors.ts'
import { HeldGrant } from './held-grant.ts'
import { Interrupt } from './interrupt.ts'
import type { Patience } from './patience.ts'
import { type AcquireReply, SentAsk } from './sent-ask.ts'
import type { Session } from './session.ts'
import { WaitReport } from './wait-report.ts'
import type { Closable, Wiring } from './wiring.ts'

/** A reply, and what it is the reply to. */
interface Replied {
  readonly sent: SentAsk
  readonly reply: AcquireReply
}

/** Refusals of this hold id, not of the ask, which goes on with another one. */
const ASK_ANEW = new Set(['passed-over', 'hold-ended', 'cancelled', 'session-lost'])

/** One ask, from its first try to its grant or its final answer. When it is given up it leaves nothing behind. */
export class Ask implements Closable {
  readonly #wiring: Wiring
  readonly #spec: AskSpec
  readonly #patience: Patience
  readonly #interrupt = new Interrupt()
  readonly #startMs: number
  #report: WaitReport | undefined
  #setbacks: Backoff | undefined
  #cancelPatience: (() => void) | undefined
  #unlink: (() => void) | undefined
  #sleep: (() => void) | undefined
  #openAt = -1
  /** What the server may know of: nothing before the first try, and between two hold ids. */
  #sent: SentAsk | undefined
  /** It has stood in line, if only under an earlier hold id. */
  #hasQueued = false
  /** Why the last try has no reply; absent once one has come. */
  #unanswered: UnavailableError | undefined
  /** Of a turn that has come: it went out at once, and its reply is waited for when the ask has woken up. */
  #claim: { readonly sent: SentAsk; readonly reply: Promise<AcquireReply> } | undefined

  constructor(wiring: Wiring, spec: AskSpec, patience: Patience) {
    this.#wiring = wiring
    this.#spec = spec
    this.#patience = patience
    this.#startMs = wiring.clock.monoMs()
  }

  /** Throws whatever ends it without a grant or a skip; `UnavailableError` where nobody answered for too long. */
  answer(): Promise<HeldGrant | Skip> {
    const { clock, open, sessions } = this.#wiring
    const { signal } = this.#spec
    this.#openAt = open.add(this)
    this.#sleep = clock.stayAwake()
    this.#unlink = signal && onAbort(signal, (reason) => this.#abort(reason))
    this.#watchPatience()
    const session = sessions.current
    return session && !this.#interrupt.isStopped ? this.#askOnce(session) : this.#goOn()
  }

  /** Most asks are granted by the first reply, and need no more than this. */
  #askOnce(session: Session): Promise<HeldGrant | Skip> {
    return new Promise((resolve, reject) => {
      const interrupt = this.#interrupt
      const sent = this.#sentUnder(session)
      interrupt.watch((reason) => {
        this.#leave()
        reject(reason)
      })
      this.#wiring.contact.send<'acquire'>(sent.nextRequest(this.#patience), this.#limits(0), (reply, error) => {
        if (interrupt.isStopped) return
        const answer = reply?.status === 'granted' ? this.#judge(sent, reply) : undefined
        if (!answer) return resolve(this.#goOn(reply && { sent, reply }, error))
        this.#leave()
        resolve(answer)
      })
    })
  }

  /** From a first reply, or from why there was none, to the grant or the final answer. */
  async #goOn(replied?: Replied, error?: unknown): Promise<HeldGrant | Skip> {
    try {
      let { sent, reply } = replied ?? (await this.#send(error))
      for (;;) {
        const answer = this.#judge(sent, reply)
        if (answer) return answer
        if (reply.status === 'queued') await this.#wait(sent)
        else await this.#pause(this.#nextSetback().nextMs())
        ;({ sent, reply } = this.#told() ?? (await this.#send()))
      }
    } finally {
      this.#leave()
    }
  }

  #leave(): void {
    this.#sent?.leave()
    this.#cancelPatience?.()
    this.#unlink?.()
    this.#sleep?.()
    this.#wiring.open.remove(this, this.#openAt)
  }

  /** The client closes: its session goes, and this ask with it. */
  close(): void {
    this.#sent?.finish()
    this.#interrupt.stop(new BatonError('closed', 'the client was closed'))
  }

  #abort(cause: unknown): void {
    this.#interrupt.stop(new BatonError('aborted', 'the ask was given up by its caller', { cause }))
  }

  /** What a caller's own callback throws ends its ask. */
  get report(): WaitReport {
    this.#report ??= new WaitReport(this.#spec, (error) => this.#interrupt.stop(error))
    return this.#report
  }

  /** The claim need not wait until all that sleeps is awake. */
  handedOver(sent: SentAsk): void {
    if (this.#interrupt.isStopped || !sent.isHandedOver || !sent.session.isAlive()) return
    const reply = this.#wiring.contact.try<'acquire'>(sent.nextRequest(this.#patience), this.#limits(0))
    // Where it is given up meanwhile, nobody waits for it any more.
    reply.catch(() => {})
    this.#claim = { sent, reply }
  }

  #nextSetback(): Backoff {
    this.#setbacks ??= new Backoff(this.#wiring.random)
    return this.#setbacks
  }

  #pause(delayMs: number): Promise<void> {
    return this.#interrupt.until((done) => this.#wiring.clock.after(delayMs, done))
  }

  #watchPatience(): void {
    const leftMs = this.#patience.leftMs(this.#startMs)
    if (leftMs === Infinity) return
    // A timer may be shorter than what it is asked for, so what is left is checked once more. What was granted and has not
    // been claimed by now is taken back like all the rest.
    const check = () =>
      this.#patience.leftMs(this.#startMs) <= 0 ? this.#interrupt.stop(this.#tooLate()) : this.#watchPatience()
    this.#cancelPatience = this.#wiring.clock.after(leftMs, check)
  }

  #tooLate(): BatonError {
    if (this.#unanswered) return this.#unanswered
    if (!this.#hasQueued) return new UnavailableError('nobody answered within the wait limit')
    return new RefusedError('wait-over', 'the wait limit is over; ask again or wait longer')
  }

  /** The answer that the stream has told: nothing has to be sent for it. */
  #told(): Replied | undefined {
    const sent = this.#sent
    const reply = sent?.answer
    return sent && reply && { sent, reply }
  }

  /** Tries until there is a reply. `error`: why the try before had none. */
  async #send(error?: unknown): Promise<Replied> {
    const { contact, random, sessions } = this.#wiring
    const interrupt = this.#interrupt
    const backoff = new Backoff(random)
    for (let failed = error; ; ) {
      if (failed !== undefined) await this.#bear(failed, backoff)
      try {
        interrupt.throwIfStopped()
        const session = sessions.current ?? (await interrupt.wait(sessions.alive()))
        const sent = this.#sentUnder(session)
        const claim = this.#claim
        this.#claim = undefined
        const ask = () => contact.try<'acquire'>(sent.nextRequest(this.#patience), this.#limits(backoff.tries))
        const reply = await interrupt.wait(claim?.sent === sent ? claim.reply : ask())
        this.#unanswered = undefined
        return { sent, reply }
      } catch (caught) {
        failed = caught
      }
    }
  }

  /** Until the next try; throws the error where there is none to come. */
  async #bear(error: unknown, backoff: Backoff): Promise<void> {
    if (!(error instanceof UnavailableError) || this.#interrupt.isStopped) throw error
    this.#unanswered = error
    const delayMs = backoff.nextWithinMs(this.#unansweredLeftMs())
    if (delayMs === undefined) throw error
    this.#spec.trace?.retried(error.message)
    await this.#pause(delayMs)
  }

  #limits(tries: number): { readonly tries: number; readonly timeoutMs: number } {
    return { tries, timeoutMs: Math.max(1, this.#unansweredLeftMs()) }
  }

  #unansweredLeftMs(): number {
    return this.#patience.unansweredLeftMs({ inLine: this.#hasQueued, askedAtMs: this.#startMs })
  }

  /** Under another session it is another ask: the place of the old one goes with the old session. */
  #sentUnder(session: Session): SentAsk {
    if (this.#sent?.session !== session) {
      this.#sent?.leave()
      this.#sent = new SentAsk(this.#wiring, { spec: this.#spec, session, reporter: this })
    }
    return this.#sent
  }

  /** The grant or the skip, or nothing where it goes on. */
  #judge(sent: SentAsk, reply: AcquireReply): HeldGrant | Skip | undefined {
    if (reply.status === 'queued') {
      // Another ask of the same owner stands in line; this one does not.
      if (this.#patience.waitMs === 0 || this.#spec.queueing === false) throw refusedError(errorBody('busy'))
      this.#hasQueued = true
      sent.queued(reply)
      return undefined
    }
    if (reply.status === 'granted') {
      if (!sent.session.isAlive()) return this.#askAnew(sent, 'session-lost')
      sent.finish()
      const { place, hold, session } = sent
      const start = { place, hold, session, reply, waited: this.#hasQueued, signal: this.#spec.signal }
      const grant = new HeldGrant(this.#wiring, start)
      if (sent.ended) grant.onEvent(sent.ended)
      return grant
    }
    sent.finish()
    if (reply.status === 'skip') return reply
    if (reply.status === 'failed') throw new FailedForGoodError(reply)
    if (!ASK_ANEW.has(reply.code)) throw refusedError(reply)
    if (reply.code === 'session-lost') sent.session.lose('the session has ended')
    return this.#askAnew(sent, reply.code)
  }

  /** It goes on with another hold id. */
  #askAnew(sent: SentAsk, why: string): undefined {
    this.#spec.trace?.retried(why)
    sent.leave()
    this.#sent = undefined
  }

  async #wait(sent: SentAsk): Promise<void> {
    const { random, trustMs } = this.#wiring
    sent.listen()
    this.#setbacks?.reset()
    if (sent.hasNews) return
    // Not polling: the stream tells. Should an event be lost on the way nevertheless (a proxy that swallows them, a
    // server that stalls), this is what ends the wait, once or twice in the life of a lease where that can happen.
    const againMs = Math.min(trustMs * (0.5 + random.fraction() / 2), this.#spec.placeEveryMs ?? Infinity)
    await sent.sleep(againMs, this.#interrupt)
  }
}
