import type { Skip } from '@baton-lock/core'
import { errorBody } from '@baton-lock/protocol'
import type { ClientParts, Closable } from '../client-parts.ts'
import { onAbort } from '../clock.ts'
import type { InputOf } from '../connection/transport.ts'
import { BatonError, FailedForGoodError, RefusedError, refusedError, UnavailableError } from '../errors.ts'
import { Backoff } from '../requests/backoff.ts'
import { Interrupt } from '../requests/interrupt.ts'
import type { Tries } from '../requests/sender.ts'
import type { Session } from '../session/session.ts'
import { type AskTrace, askTrace } from '../traces/ask-span.ts'
import type { AskSpec } from './ask-spec.ts'
import { Grant } from './grant.ts'
import { type AcquireReply, SentAsk } from './sent-ask.ts'
import { WaitReport } from './wait-report.ts'

/** A refusal of these concerns the hold id. The ask goes on with another one. */
const ASK_ANEW = new Set(['passed-over', 'hold-ended', 'cancelled', 'session-lost'])

/** A grant or a skip. With `whenUnavailable: 'run'`, a grant of fence 0 if no server answers. */
export function ask(client: ClientParts, spec: AskSpec): Promise<Grant | Skip> {
  const answer = new Ask(client, spec).answer()
  return spec.whenUnavailable === 'run' ? answer.catch((error) => withoutServer(client, spec, error)) : answer
}

function withoutServer(client: ClientParts, spec: AskSpec, error: unknown): Grant | Skip {
  if (!(error instanceof UnavailableError)) throw error
  if (spec.verified) return { status: 'skip', fence: 0 }
  const { namespace, operation, resource, owner = client.random.id() } = spec
  client.notice(`nobody answers: ${operation} ${resource} runs without a grant`)
  const place = { namespace, operation, resource, node: client.node, owner }
  return new Grant(client, { spec, place, reply: { fence: 0, attempt: 1 }, held: undefined })
}

/** One ask, from its first request to its grant or another final answer. If it is given up, nothing of it is left. */
class Ask implements Closable, Tries {
  readonly interrupt = new Interrupt()
  readonly #client: ClientParts
  readonly #spec: AskSpec
  readonly #trace: AskTrace | undefined
  readonly #report: WaitReport
  readonly #startMs: number
  /** What the server may know of; `undefined` before the first request, and between two hold ids. */
  #sent: SentAsk | undefined
  #setbacks: Backoff | undefined
  #cancelDeadline = () => {}
  /** It has been in the queue, perhaps under an earlier hold id. */
  #hasQueued = false
  /** Why the last request had no reply; `undefined` once one has. */
  #unanswered: UnavailableError | undefined

  constructor(client: ClientParts, spec: AskSpec) {
    this.#client = client
    this.#spec = spec
    this.#trace = askTrace(client, spec)
    // An error of the caller's own callback ends its ask.
    this.#report = new WaitReport(spec, this.#trace, (error) => this.interrupt.stop(error))
    this.#startMs = client.clock.monoMs()
  }

  /** Throws what ends it without a grant or a skip; an `UnavailableError` if there was no reply for too long. */
  async answer(): Promise<Grant | Skip> {
    const { clock, open, sender } = this.#client
    const { signal } = this.#spec
    const openAt = open.add(this)
    const sleep = clock.stayAwake()
    const unlink = signal && onAbort(signal, (reason) => this.#abort(reason))
    this.#watchDeadline()
    try {
      for (;;) {
        const reply = this.#sent?.answer ?? (await sender.request<'acquire'>(() => this.#nextRequest(), this))
        this.#unanswered = undefined
        const answer = this.#judge(this.#sent!, reply)
        if (answer) {
          this.#trace?.answered(answer)
          return answer
        }
        await (reply.status === 'queued' ? this.#wait(this.#sent!) : this.#pause())
      }
    } catch (error) {
      this.#trace?.failed(error)
      throw error
    } finally {
      this.#sent?.leave()
      this.#cancelDeadline()
      unlink?.()
      sleep()
      open.remove(this, openAt)
    }
  }

  /** The client closes: its session ends, and this ask with it. */
  close(): void {
    this.#sent?.finish()
    this.interrupt.stop(new BatonError('closed', 'the client was closed'))
  }

  leftMs(): number {
    return this.#spec.deadline.unansweredLeftMs({ inQueue: this.#hasQueued, requestedAtMs: this.#startMs })
  }

  onRetry(error: UnavailableError): void {
    this.#unanswered = error
    this.#trace?.retried(error.message)
  }

  #abort(cause: unknown): void {
    this.interrupt.stop(new BatonError('aborted', 'the ask was given up by its caller', { cause }))
  }

  #watchDeadline(): void {
    const leftMs = this.#spec.deadline.leftMs(this.#startMs)
    if (leftMs === Infinity) return
    // A timer may be shorter than asked for, so the time is checked again. A grant that is unclaimed by now is cancelled.
    const check = () =>
      this.#spec.deadline.leftMs(this.#startMs) <= 0 ? this.interrupt.stop(this.#tooLate()) : this.#watchDeadline()
    this.#cancelDeadline = this.#client.clock.after(leftMs, check)
  }

  #tooLate(): BatonError {
    if (this.#unanswered) return this.#unanswered
    if (!this.#hasQueued) return new UnavailableError('nobody answered within the wait limit')
    return new RefusedError('wait-over', 'the wait limit is over; ask again or wait longer')
  }

  #nextRequest(): InputOf<'acquire'> | Promise<InputOf<'acquire'>> {
    const { sessions } = this.#client
    const session = sessions.current
    return session ? this.#requestUnder(session) : sessions.alive().then((opened) => this.#requestUnder(opened))
  }

  /** A place belongs to its session, so under another session this is another ask. */
  #requestUnder(session: Session): InputOf<'acquire'> {
    this.interrupt.throwIfStopped()
    if (this.#sent?.session !== session) {
      this.#sent?.leave()
      this.#sent = new SentAsk(this.#client, this.#spec, session, this.#report)
    }
    return this.#sent.nextRequest()
  }

  /** The grant or the skip; `undefined` if it goes on. */
  #judge(sent: SentAsk, reply: AcquireReply): Grant | Skip | undefined {
    const { deadline, queueing } = this.#spec
    if (reply.status === 'queued') {
      // Another ask of the same owner is in the queue.
      if (deadline.waitMs === 0 || queueing === false) throw refusedError(errorBody('busy'))
      this.#hasQueued = true
      sent.queued(reply)
      return undefined
    }
    if (reply.status === 'granted') {
      if (!sent.session.isAlive()) return this.#askAnew(sent, 'session-lost')
      sent.finish()
      const { place, hold, session } = sent
      const held = { hold, session, hasQueued: this.#hasQueued }
      const grant = new Grant(this.#client, { spec: this.#spec, place, reply, held })
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

  #askAnew(sent: SentAsk, why: string): undefined {
    this.#trace?.retried(why)
    sent.leave()
    this.#sent = undefined
  }

  #pause(): Promise<void> {
    this.#setbacks ??= new Backoff(this.#client.random)
    const delayMs = this.#setbacks.nextMs()
    return this.interrupt.until((done) => this.#client.clock.after(delayMs, done))
  }

  /**
   * This is not polling: the stream delivers the news. If an event is lost on the way (by a proxy, or a server that stalls), the
   * next request finds out, once or twice in the life of a lease.
   */
  #wait(sent: SentAsk): Promise<void> {
    const { random, trustMs } = this.#client
    this.#setbacks?.reset()
    const againMs = Math.min(trustMs * (0.5 + random.fraction() / 2), this.#spec.placeEveryMs ?? Infinity)
    return sent.wait(againMs, this.interrupt)
  }
}
