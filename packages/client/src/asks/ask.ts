import type { Skip } from '@baton-lock/core'
import { errorBody, LIMITS } from '@baton-lock/protocol'
import type { ClientParts, Closable } from '../client-parts.ts'
import { onAbort } from '../clock.ts'
import type { InputOf } from '../connection/transport.ts'
import { BatonError, FailedForGoodError, refusedError, UnavailableError } from '../errors.ts'
import { Grant } from '../grants/grant.ts'
import { Backoff } from '../requests/backoff.ts'
import { Interrupt } from '../requests/interrupt.ts'
import type { Tries } from '../requests/sender.ts'
import { type AskTrace, askTrace } from '../traces/ask-span.ts'
import { askError, subjectOf } from './ask-error.ts'
import type { AskSpec } from './ask-spec.ts'
import { ownGrant } from './deadlocks.ts'
import { type AcquireReply, SentAsk } from './sent-ask.ts'
import { WaitReport } from './wait-report.ts'

/** A refusal of these concerns the hold id. The ask goes on with another one. */
const ASK_ANEW = new Set(['passed-over', 'hold-ended', 'cancelled', 'session-lost'])

/**
 * A grant or a skip. With `whenUnavailable: 'run'`, a grant of fence 0 if no server answers. Throws what ends the ask otherwise: an
 * `UnavailableError` if there was no reply for too long.
 */
export async function ask(client: ClientParts, spec: AskSpec): Promise<Grant | Skip> {
  const here = client.deadlocks.here()
  client.deadlocks.checkNested(spec, here)
  const asked = new Ask(client, spec, here)
  try {
    for (;;) {
      const reply = asked.toldAnswer ?? (await client.sender.request<'acquire'>(() => asked.nextRequest(), asked))
      const answer = asked.judge(reply)
      if (answer) return answer
      await asked.wait(reply)
      asked.lookForOwn()
    }
  } catch (error) {
    return await asked.failed(error)
  } finally {
    asked.end()
  }
}

/** One ask, from its first request to its grant or another final answer. If it is given up, nothing of it is left. */
class Ask implements Closable, Tries {
  readonly interrupt = new Interrupt()
  readonly #client: ClientParts
  readonly #spec: AskSpec
  /** Where it was made, if that is recorded. */
  readonly #here: Error | undefined
  #hasLooked = false
  readonly #trace: AskTrace | undefined
  readonly #report: WaitReport
  readonly #startMs: number
  readonly #openAt: number
  readonly #sleep: () => void
  readonly #unlink: (() => void) | undefined
  /** What the server may know of; `undefined` before the first request, and between two hold ids. */
  #sent: SentAsk | undefined
  #setbacks: Backoff | undefined
  #cancelDeadline = () => {}
  /** It has been in the queue, perhaps under an earlier hold id. */
  #hasQueued = false
  /** Why the last request had no reply; `undefined` once one has. */
  #unanswered: UnavailableError | undefined

  constructor(client: ClientParts, spec: AskSpec, here: Error | undefined) {
    const { signal } = spec
    this.#client = client
    this.#spec = spec
    this.#here = here
    this.#trace = askTrace(client, spec)
    // An error of the caller's own callback ends its ask.
    this.#report = new WaitReport(spec, this.#trace, (error) => this.interrupt.stop(error))
    this.#startMs = client.clock.monoMs()
    this.#openAt = client.open.add(this)
    this.#sleep = client.clock.stayAwake()
    this.#unlink = signal && onAbort(signal, (reason) => this.#abort(reason))
    this.#watchDeadline()
  }

  /** The final answer, if the stream has delivered it. */
  get toldAnswer(): AcquireReply | undefined {
    return this.#sent?.answer
  }

  /**
   * Requests, requests again, or claims: with the same hold id, so that a request whose reply was lost counts once. A place belongs to
   * its session, so under another session this is another ask.
   */
  nextRequest(session = this.#client.sessions.current): InputOf<'acquire'> | Promise<InputOf<'acquire'>> {
    if (!session) return this.#client.sessions.alive().then((opened) => this.nextRequest(opened))
    this.interrupt.throwIfStopped()
    if (this.#sent?.session !== session) {
      this.#sent?.leave()
      this.#sent = new SentAsk(this.#client, this.#spec, session, this.#report)
    }
    const { place, hold } = this.#sent
    const spec = this.#spec
    const doesNotWait = spec.deadline.waitMs === 0
    const leftMs = Math.max(1, Math.ceil(spec.deadline.waitLeftMs()))
    this.#sent.hasNews = false
    return {
      type: 'acquire',
      namespace: place.namespace,
      resource: place.resource,
      operation: place.operation,
      node: place.node,
      owner: place.owner,
      hold,
      session: session.id,
      // A longer limit than the server allows is kept by this client, which cancels in time.
      waitMs: doesNotWait ? 0 : leftMs > LIMITS.waitMaxMs ? undefined : leftMs,
      revision: spec.revision,
      disbelieve: spec.disbelieve,
      verified: spec.verified,
      verifies: spec.verifies,
      reference: spec.reference,
      dropReference: spec.dropReference || undefined,
      queueing: doesNotWait ? false : spec.queueing,
      traceparent: this.#trace?.traceparent,
    }
  }

  /** The grant or the skip; `undefined` if it goes on. */
  judge(reply: AcquireReply): Grant | Skip | undefined {
    const sent = this.#sent!
    this.#unanswered = undefined
    switch (reply.status) {
      case 'queued': {
        // Another ask of the same owner is in the queue.
        const { deadline, queueing } = this.#spec
        if (deadline.waitMs === 0 || queueing === false) throw refusedError(errorBody('busy'))
        this.#hasQueued = true
        this.#report.queued(reply)
        return undefined
      }
      case 'granted': {
        if (!sent.session.isAlive()) return this.#askAnew(sent, 'session-lost')
        sent.finish()
        const { place, hold, session } = sent
        const held = { hold, session, hasQueued: this.#hasQueued, at: this.#here }
        const grant = new Grant(this.#client, { spec: this.#spec, place, reply, held })
        if (sent.ended) grant.onEvent(sent.ended)
        this.#trace?.answered(grant)
        return grant
      }
      case 'skip':
        sent.finish()
        this.#trace?.answered(reply)
        return reply
      case 'failed':
        sent.finish()
        throw new FailedForGoodError(reply, subjectOf(this.#spec))
      case 'refused':
        sent.finish()
        if (!ASK_ANEW.has(reply.code)) throw refusedError(reply)
        if (reply.code === 'session-lost') sent.session.lose({ kind: 'session-ended' })
        return this.#askAnew(sent, reply.code)
    }
  }

  /**
   * In the queue, until there is news; after a setback, for a moment. This is not polling: the stream delivers the news. If an event is
   * lost on the way (by a proxy, or a server that stalls), the next request finds out, once or twice in the life of a lease.
   */
  async wait({ status }: AcquireReply): Promise<void> {
    const { clock, random, trustMs, ttlMs } = this.#client
    if (status !== 'queued') {
      this.#setbacks ??= new Backoff(random)
      const delayMs = this.#setbacks.nextMs()
      return this.interrupt.until((done) => clock.after(delayMs, done))
    }
    this.#setbacks?.reset()
    const sent = this.#sent!
    let againMs = Math.min(trustMs * (0.5 + random.fraction() / 2), this.#spec.placeEveryMs ?? Infinity)
    if (!this.#hasLooked && ttlMs < againMs) {
      await sent.wait(ttlMs, this.interrupt)
      this.lookForOwn()
      againMs -= ttlMs
    }
    await sent.wait(againMs, this.interrupt)
  }

  /**
   * Whoever waits for longer than half a lease waits for a holder that is alive. If that is this client itself, it may be the caller.
   */
  lookForOwn(): void {
    const { clock, deadlocks, open, ttlMs } = this.#client
    const waitedMs = clock.monoMs() - this.#startMs
    if (this.#hasLooked || waitedMs < ttlMs / 2) return
    this.#hasLooked = true
    const grant = ownGrant(open, this.#spec)
    if (grant) deadlocks.noteLongWait(this.#spec, grant, waitedMs)
  }

  /** Throws the error, unless the work may run without a server. */
  async failed(error: unknown): Promise<Grant | Skip> {
    this.#trace?.failed(error)
    const { whenUnavailable, verified } = this.#spec
    if (whenUnavailable !== 'run' || !(error instanceof UnavailableError)) {
      const { position } = this.#report
      const waitedMs = this.#client.clock.monoMs() - this.#startMs
      throw await askError(this.#client, this.#spec, { error, position, waitedMs })
    }
    if (verified) return { status: 'skip', fence: 0 }
    const { namespace, operation, resource, owner = this.#client.random.id() } = this.#spec
    this.#client.notice(`nobody answers: ${operation} ${resource} runs without a grant`)
    const place = { namespace, operation, resource, node: this.#client.node, owner }
    return new Grant(this.#client, { spec: this.#spec, place, reply: { fence: 0, attempt: 1 }, held: undefined })
  }

  end(): void {
    this.#sent?.leave()
    this.#cancelDeadline()
    this.#unlink?.()
    this.#sleep()
    this.#client.open.remove(this, this.#openAt)
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
    return refusedError(errorBody('wait-over'))
  }

  #askAnew(sent: SentAsk, why: string): undefined {
    this.#trace?.retried(why)
    sent.leave()
    this.#sent = undefined
  }
}
