import type { Granted, GrantView, Json, PreviousAttempt, ReportedOutcome, Standing, WaiterView } from '../core/index.ts'
import type { ReplyOf } from '../protocol/index.ts'
import type { SuccessOptions } from './api.ts'
import { cancelAsk } from './cancel-ask.ts'
import { onAbort } from './clock.ts'
import { BatonError, GrantLostError, refusedError, UnavailableError } from './errors.ts'
import { Interrupt } from './interrupt.ts'
import type { OpenGrant } from './open-grant.ts'
import { errorText, isPermanent, toldResult, tooLarge } from './outcome.ts'
import type { Place } from './place.ts'
import { ProgressReport } from './progress-report.ts'
import type { Session, SessionUser } from './session.ts'
import type { OwnEvent, StreamListener } from './session-stream.ts'
import type { InputOf } from './transport.ts'
import { allWaiters } from './waiters.ts'
import type { Closable, Wiring } from './wiring.ts'

interface GrantStart {
  readonly place: Place
  readonly hold: string
  readonly session: Session
  readonly reply: Granted
  /** It stood in line before: the stream is open already. */
  readonly waited: boolean
  /** The caller's own: when it aborts, so does the grant's, but the grant is not lost by that. */
  readonly signal?: AbortSignal | undefined
}

const ONE_TRY = {}

const LOST_CODES = new Set(['unknown-grant', 'not-holder', 'stale-fence', 'session-lost'])

/**
 * A grant, from its acknowledged claim to its acknowledged outcome or its loss. Most are short and end well: what only the
 * others need comes into being when they do.
 */
export class HeldGrant implements OpenGrant, StreamListener, SessionUser, Closable {
  readonly status = 'granted'
  readonly place: Place
  readonly operation: string
  readonly resource: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly attempt: number
  readonly previous: PreviousAttempt | undefined
  readonly #wiring: Wiring
  readonly #session: Session
  readonly #hold: string
  readonly #callersSignal: AbortSignal | undefined
  readonly #knownSince: number
  readonly #sleep: () => void
  readonly #openAt: number
  readonly #listenerAt: number
  readonly #userAt: number
  /** There once somebody looks at the signal. */
  #end: AbortController | undefined
  #unlink: (() => void) | undefined
  #progress: ProgressReport | undefined
  #leaveStream: (() => void) | undefined
  /** There while the outcome is on its way. */
  #reporting: Interrupt | undefined
  #reported: Promise<void> | undefined
  #lost: GrantLostError | undefined
  #isClosed = false
  lastingFromMs = Infinity
  traceparent: string | undefined

  constructor(wiring: Wiring, { place, hold, session, reply, waited, signal }: GrantStart) {
    this.place = place
    this.operation = place.operation
    this.resource = place.resource
    this.owner = place.owner
    this.node = place.node
    this.fence = reply.fence
    this.attempt = reply.attempt
    this.previous = reply.previous
    this.#wiring = wiring
    this.#session = session
    this.#hold = hold
    this.#callersSignal = signal
    this.#knownSince = wiring.stream.openings
    this.#sleep = wiring.clock.stayAwake()
    this.#openAt = wiring.open.add(this)
    this.#listenerAt = wiring.stream.register(this)
    if (waited) this.onLasting()
    else this.lastingFromMs = wiring.stream.whenItLasts()
    this.#userAt = session.add(this)
  }

  get namespace(): string {
    return this.place.namespace
  }

  get signal(): AbortSignal {
    if (!this.#end) {
      const end = new AbortController()
      this.#end = end
      if (this.#lost) end.abort(this.#lost)
      else if (this.#callersSignal && !this.#isClosed)
        this.#unlink = onAbort(this.#callersSignal, (reason) => end.abort(reason))
    }
    return this.#end.signal
  }

  get lost(): GrantLostError | undefined {
    return this.#lost
  }

  async waiters(): Promise<readonly WaiterView[]> {
    return allWaiters(this.#wiring.contact, this.place)
  }

  async holders(): Promise<readonly GrantView[]> {
    const { namespace, resource } = this.place
    const reply = await this.#wiring.contact.demand<'get-resource'>({ type: 'get-resource', namespace, resource })
    return reply.resource.grants.filter(({ operation }) => operation !== this.operation)
  }

  progress(progress: Json): void {
    if (this.#reported || this.#lost) return
    this.#progress ??= new ProgressReport(this.#wiring.clock, (latest) => this.#sendProgress(latest))
    this.#progress.say(progress)
  }

  succeed(result?: unknown, { effect, keepMs }: SuccessOptions = {}): Promise<void> {
    if (result === undefined) return this.#report({ outcome: 'success', effect, keepMs })
    const { why, ...told } = toldResult(result)
    if (why !== undefined) this.#notTold(why)
    return this.#report({ outcome: 'success', ...told, effect, keepMs })
  }

  async fail(error: unknown, { permanent = isPermanent(error) }: { readonly permanent?: boolean } = {}): Promise<void> {
    await this.#report({ outcome: 'failure', error: errorText(error), permanent })
  }

  async cancel(): Promise<void> {
    await this.#report({ outcome: 'cancelled' })
  }

  /** Leaving without an outcome is a failure. Never throws: a loss shows in the signal, and others learn by expiry. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#reported ??= this.#sendOutcome({ outcome: 'failure', error: 'left without an outcome' })
    await this.#reported.catch(() => {})
  }

  /** The client closes: the work has to stop, and what it was is a failure. */
  async close(): Promise<void> {
    if (this.#reported) return this.#reported.catch(() => {})
    this.#reported = this.#sendOutcome({ outcome: 'failure', error: 'the client was closed' })
    this.#lost = this.#lostError('the client was closed')
    this.#end?.abort(this.#lost)
    await this.#reported.catch(() => {})
  }

  onEvent(event: OwnEvent): void {
    // While it reports, its own end is what it hears of.
    if (event.type !== 'ended' || event.fence !== this.fence || this.#reported) return
    this.#lose(event.outcome === 'success' ? 'another hold has ended it' : endText(event))
  }

  onState(standing: Standing | undefined, opening: number): void {
    // A state that is older than the grant cannot show it.
    if (opening <= this.#knownSince || this.#reported) return
    if (standing?.status !== 'granted' || standing.fence !== this.fence) this.#lose('the grant has ended')
  }

  onSilence(): void {}

  onLasting(): void {
    this.lastingFromMs = Infinity
    this.#leaveStream = this.#wiring.stream.keepOpen(this.#session)
  }

  onSessionLost(error: GrantLostError): void {
    this.#lose(error.message, error)
    this.#reporting?.stop(error)
  }

  /** The first report counts. One that comes later must not look as if it had. */
  #report(outcome: ReportedOutcome): Promise<void> {
    if (this.#reported) {
      const what = `${this.operation} ${this.resource}`
      return Promise.reject(
        new BatonError('ended', `the grant of ${what} was reported on before; this changes nothing`),
      )
    }
    this.#reported = this.#sendOutcome(outcome)
    return this.#reported
  }

  /** Renewals go on until the outcome is acknowledged: they are the session's, and do not bring an ended grant back. */
  #sendOutcome(outcome: ReportedOutcome): Promise<void> {
    if (this.#lost) return Promise.reject(this.#lost)
    this.#progress?.stop()
    const interrupt = new Interrupt()
    this.#reporting = interrupt
    return new Promise((resolve, reject) => {
      interrupt.watch((reason) => {
        this.#close()
        reject(this.#notAcknowledged(reason))
      })
      this.#wiring.contact.send<'release'>(this.#release(outcome), ONE_TRY, (reply, error) => {
        if (interrupt.isStopped) return
        if (reply?.status !== 'released') return resolve(this.#insist(outcome, reply, error))
        this.#close()
        resolve()
      })
    })
  }

  /** The first try was refused, or not answered. */
  async #insist(outcome: ReportedOutcome, refused: ReplyOf<'release'> | undefined, error: unknown): Promise<void> {
    const interrupt = this.#reporting!
    try {
      let reply = refused ?? (await interrupt.wait(this.#retry(outcome, error)))
      if (reply.status === 'refused' && reply.code === 'too-large' && 'result' in outcome) {
        const { result = null, ...without } = outcome
        this.#notTold(tooLarge(result))
        reply = await interrupt.wait(this.#retry({ ...without, resultOmitted: true }))
      }
      if (reply.status === 'refused') throw this.#refused(refusedError(reply))
    } catch (failed) {
      throw interrupt.isStopped ? this.#notAcknowledged(failed) : failed
    } finally {
      this.#close()
    }
  }

  /** Until it is acknowledged, or the session is lost. `error`: why the try before had no reply. */
  async #retry(outcome: ReportedOutcome, error?: unknown): Promise<ReplyOf<'release'>> {
    if (error !== undefined && !(error instanceof UnavailableError)) throw error
    const stop = new AbortController()
    const user = { onSessionLost: (lost: GrantLostError) => stop.abort(lost) }
    const userAt = this.#session.add(user)
    return this.#wiring.contact
      .retry<'release'>(this.#release(outcome), { patienceMs: Infinity, signal: stop.signal })
      .finally(() => this.#session.remove(user, userAt))
  }

  #release(outcome: ReportedOutcome): InputOf<'release'> {
    const { namespace, resource, operation, node, owner } = this.place
    const hold = this.#hold
    const { fence, traceparent } = this
    const request = { type: 'release', namespace, resource, operation, node, owner, hold, fence, ...outcome } as const
    if (traceparent === undefined || request.outcome === 'cancelled') return request
    return { ...request, traceparent }
  }

  #notAcknowledged(cause: unknown): GrantLostError {
    return this.#lostError('its outcome was not acknowledged in time, so others may not know of it', cause)
  }

  #refused(error: BatonError): BatonError {
    if (LOST_CODES.has(error.code)) return this.#lostError(error.message, error)
    cancelAsk(this.#wiring, { place: this.place, hold: this.#hold, session: this.#session })
    return error
  }

  /** The work is a success all the same: to do it again would not make its result any smaller. */
  #notTold(why: string): void {
    this.#wiring.notice(`the result of ${this.operation} ${this.resource} is not told to others: ${why}`)
  }

  #lose(why: string, cause?: unknown): void {
    if (this.#lost) return
    this.#lost = this.#lostError(why, cause)
    this.#end?.abort(this.#lost)
    if (!this.#reported) this.#close()
  }

  #lostError(why: string, cause?: unknown): GrantLostError {
    return new GrantLostError(`lost the grant of ${this.operation} ${this.resource}: ${why}`, { cause })
  }

  #close(): void {
    const { open, stream } = this.#wiring
    this.#isClosed = true
    open.remove(this, this.#openAt)
    stream.unregister(this, this.#listenerAt)
    this.#session.remove(this, this.#userAt)
    this.#progress?.stop()
    this.#leaveStream?.()
    this.#unlink?.()
    this.#sleep()
  }

  async #sendProgress(progress: Json): Promise<void> {
    const { fence } = this
    const reply = await this.#wiring.contact.try<'progress'>({ type: 'progress', ...this.place, fence, progress })
    if (reply.status === 'refused' && LOST_CODES.has(reply.code) && !this.#reported) this.#lose(reply.message)
  }
}

function endText(event: Extract<OwnEvent, { type: 'ended' }>): string {
  if (event.outcome === 'cancelled' || event.outcome === 'success') return `it was ${event.outcome}`
  return event.error
}
