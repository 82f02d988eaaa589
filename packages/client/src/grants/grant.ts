import type { Event, GrantView, Json, ReportedOutcome, Standing, WaiterView } from '@baton-lock/core'
import type { ErrorBody, Place } from '@baton-lock/protocol'
import type { Lock, Grant as PublicGrant, RunContext, SuccessOptions } from '../api.ts'
import type { AskSpec } from '../asks/ask-spec.ts'
import type { ClientParts, Closable } from '../client-parts.ts'
import { onAbort } from '../clock.ts'
import type { InputOf } from '../connection/transport.ts'
import { aboutSubject, BatonError, type ErrorSubject, GrantLostError, HoldLimitError, RefusedError } from '../errors.ts'
import { causeOfEnd, causeOfRefusal, isOwnLoss, type LossCause, lossText } from '../loss.ts'
import { Interrupt } from '../requests/interrupt.ts'
import { allWaiters, otherHolders } from '../requests/pages.ts'
import type { SessionUser } from '../session/session.ts'
import { LASTING_MS, type StreamListener } from '../session/session-stream.ts'
import type { GrantTrace } from '../traces/grant-trace.ts'
import { cleanUp } from './clean-up.ts'
import { watchScope } from './dropped-scopes.ts'
import { GrantFields, type GrantStart, type ServerGrant } from './grant-fields.ts'
import { type HoldLimits, watchHold } from './hold-limit.ts'
import { errorText, isPermanent, toldResult, tooLarge } from './outcome.ts'
import { ProgressReport } from './progress-report.ts'
import { releaseOf, sendRelease } from './release.ts'

const UNACKNOWLEDGED = 'its outcome was not acknowledged in time, so others may not know of it'
const LEFT = 'left without an outcome'

/**
 * A grant, from its acknowledged claim to its acknowledged outcome or its loss. Callers and callbacks get this object, by the narrower
 * interfaces of api.ts. Most grants are short and end well, so what only the others need is made when they need it.
 */
export class Grant extends GrantFields implements PublicGrant, RunContext, Lock, StreamListener, SessionUser, Closable {
  readonly place: Place
  readonly namespace: string
  readonly #client: ClientParts
  readonly #callersSignal: AbortSignal | undefined
  readonly #leavingIs: AskSpec['leavingIs']
  readonly #held: ServerGrant | undefined
  /** States of streams that were opened later include it. */
  readonly #knownSince: number
  #sinceMs = 0
  #sleep: (() => void) | undefined
  readonly #openAt: number
  #listenerAt = -1
  #userAt = -1
  lastingFromMs = Infinity
  #trace: GrantTrace | undefined
  #end: AbortController | undefined
  #unlink: (() => void) | undefined
  #progress: ProgressReport | undefined
  #leaveStream: (() => void) | undefined
  #effect: 'none' | undefined
  /** While the outcome is being reported. */
  #reporting: Interrupt | undefined
  /** A release was sent. */
  #isSent = false
  #reported: Promise<void> | undefined
  #released: Promise<void> | undefined
  #lost: GrantLostError | undefined
  #isClosed = false
  #hasLasted = false
  #overdue: HoldLimitError | undefined
  #cancelLimit: (() => void) | undefined
  #cancelNotice: (() => void) | undefined
  /** The object that the caller has, until it is watched. */
  scope: object | undefined
  /** The caller has its signal. */
  #isKept = false

  constructor(client: ClientParts, { spec, place, reply, held }: GrantStart) {
    super(place, reply)
    this.place = place
    this.namespace = place.namespace
    this.#client = client
    this.#callersSignal = spec.signal
    this.#leavingIs = spec.leavingIs
    this.#held = held
    this.#knownSince = client.stream.openings
    // What a caller does in a scope of its own keeps the process alive by itself. A lock that was forgotten does not.
    if (!spec.isScoped) this.#sleep = client.clock.stayAwake()
    this.#openAt = client.open.add(this)
    if (!held) return
    this.#listenerAt = client.stream.register(this)
    if (held.hasQueued) this.#leaveStream = client.stream.keepOpen(held.session)
    this.lastingFromMs = client.stream.whenItLasts()
    this.#sinceMs = this.lastingFromMs - LASTING_MS
    this.#userAt = held.session.add(this)
    if (spec.limits) this.#limit(spec.limits)
  }

  get signal(): AbortSignal {
    if (!this.#end) {
      const end = new AbortController()
      this.#end = end
      if (this.#lost ?? this.#overdue) end.abort(this.#lost ?? this.#overdue)
      else if (this.#callersSignal && !this.#isClosed)
        this.#unlink = onAbort(this.#callersSignal, (reason) => end.abort(reason))
    }
    return this.#end.signal
  }

  /** The stack of the call that requested it, if that is recorded. */
  get heldAt(): Error | undefined {
    return this.#held?.at
  }

  /** Why it was lost. Its signal may have aborted for another reason: that its caller wants the work to stop. */
  get lost(): GrantLostError | undefined {
    // A callback that blocked the event loop ends before a timer could tell.
    if (!this.#reported) this.#held?.session.checkIfDue()
    return this.#lost
  }

  get isHeld(): boolean {
    return this.remainingMs > 0
  }

  get remainingMs(): number {
    if (!this.#held || this.#lost || this.#reported) return 0
    // A session whose time is over tells its grants in this call.
    return this.#held.session.remainingMs()
  }

  // Callbacks take these out of the object: `async ({ progress, signal }) => …`. So they are functions that need no `this`.

  get throwIfLost(): () => void {
    return () => {
      if (this.isHeld) return
      if (this.#lost) throw this.lostError()
      if (this.#reported && this.#overdue) throw this.failure()
      if (this.#reported)
        throw new BatonError('ended', this.#about('it was released, and is held no longer'), this.#subject)
    }
  }

  get waiters(): () => Promise<readonly WaiterView[]> {
    return async () => (this.#held ? allWaiters(this.#client.sender, this.place) : [])
  }

  get holders(): () => Promise<readonly GrantView[]> {
    return async () => (this.#held ? otherHolders(this.#client.sender, this.place) : [])
  }

  get progress(): (progress: Json) => void {
    return (progress) => this.#sayProgress(progress)
  }

  get noEffect(): () => void {
    return () => {
      this.#effect = 'none'
    }
  }

  get state(): string {
    if (this.lost) return `lost: ${lossText(this.#lost!.cause)}`
    if (this.#reported) return 'ended'
    return this.#held ? 'held' : 'no grant: no server answered'
  }

  /** Made when the work begins, as it becomes the active span. */
  set trace(trace: GrantTrace) {
    this.#trace = trace
    if (this.#lost) trace.lost(this.#lost)
  }

  succeed(result?: unknown, { effect = this.#effect, keepMs }: SuccessOptions = {}): Promise<void> {
    const { why, ...told } = toldResult(result)
    if (why !== undefined) this.#noticeOmitted(why)
    return this.#report({ outcome: 'success', ...told, effect, keepMs })
  }

  async fail(error: unknown, { permanent = isPermanent(error) }: { readonly permanent?: boolean } = {}): Promise<void> {
    await this.#report({ outcome: 'failure', error: errorText(error), permanent }, error)
  }

  async cancel(): Promise<void> {
    await this.#report({ outcome: 'cancelled' })
  }

  release(): Promise<void> {
    this.#released ??= this.succeed()
    return this.#released
  }

  /** Never throws: the signal says that it was lost, and others learn from the expiry what they were not told. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#leavingIs === 'success') await this.release().catch(() => {})
    else await this.#failUnreported(LEFT)
  }

  /** The client closes: the work has to stop, and has failed. */
  async close(): Promise<void> {
    const isReported = this.#reported !== undefined
    const failed = this.#failUnreported('the client was closed')
    if (!isReported) this.#lose({ kind: 'client-closed' })
    await failed
  }

  onEvent(event: Event): void {
    // While it is being reported on, this is the end that it reports.
    if (event.type !== 'ended' || event.fence !== this.fence || this.#reported) return
    this.#lose(causeOfEnd(event.outcome))
  }

  onState(standing: Standing | undefined, opening: number): void {
    if (opening <= this.#knownSince || this.#reported) return
    if (standing?.status !== 'granted' || standing.fence !== this.fence)
      this.#lose({ kind: 'grant-ended', message: 'the grant has ended' })
  }

  onSilence(): void {}

  onLasting(): void {
    const { clock, stream, usualHolds } = this.#client
    this.lastingFromMs = Infinity
    this.#hasLasted = true
    this.#leaveStream ??= stream.keepOpen(this.#held!.session)
    const long = usualHolds.tooLong(this.place)
    if (long) {
      const leftMs = this.#sinceMs + long.afterMs - clock.monoMs()
      this.#cancelNotice = clock.after(leftMs, () => this.#client.notice(this.#about(long.text)))
    }
    if (!this.scope || this.#isKept) return
    watchScope(this.scope, this)
    this.scope = undefined
  }

  /** The caller relies on more than the scope: on its signal. */
  keepScope(scope: object): void {
    this.scope = scope
    this.#isKept = true
    if (!this.#isClosed) this.#sleep ??= this.#client.clock.stayAwake()
  }

  /**
   * Nothing refers to its scope any more, so nobody can release it, or learn that it is lost. It is kept all the same: the caller may rely
   * on it, as in `await baton.lock('singleton')`.
   */
  onScopeDropped(): void {
    if (this.#reported || this.#lost) return
    const text =
      'its lock was garbage-collected without a release: it is held until this client is closed; keep the lock, and release it'
    this.#client.notice(this.#about(text))
  }

  onSessionLost(cause: LossCause): void {
    this.#lose(cause)
    this.#reporting?.stop(cause)
  }

  /** The loss as an error with the stack of the caller. `error`: what the callback threw after it. */
  lostError(error?: unknown, note?: string): GrantLostError {
    const { cause } = this.#lost!
    const callbackError = error instanceof GrantLostError && error.cause === cause ? undefined : error
    return new GrantLostError(cause, { ...this.#subject, callbackError, note })
  }

  /** The error of a call whose grant was lost or held for too long. `error`: what the callback threw then. */
  failure(error?: unknown): BatonError | undefined {
    if (this.lost) return this.lostError(error)
    if (!this.#overdue) return undefined
    const callbackError = error instanceof HoldLimitError ? undefined : error
    return new HoldLimitError(this.#overdue.maxHoldMs, { ...this.#subject, callbackError })
  }

  #limit(limits: HoldLimits): void {
    this.#cancelLimit = watchHold(this.#client.clock, limits, {
      onTooLong: () => {
        this.#overdue = new HoldLimitError(limits.maxHoldMs, this.#subject)
        this.#end?.abort(this.#overdue)
      },
      onGraceOver: () => void this.#failUnreported(this.#overdue!.message),
    })
  }

  /** The first report counts. A later one must not look as if it did. */
  #report(outcome: ReportedOutcome, cause?: unknown): Promise<void> {
    if (this.#reported) {
      const text = this.#about('its outcome was reported before; this changes nothing')
      return Promise.reject(new BatonError('ended', text, this.#subject))
    }
    const isTooLate = this.#overdue !== undefined && outcome.outcome === 'success'
    this.#reported = isTooLate ? this.#failOverdue() : this.#sendOutcome(outcome, cause)
    return this.#reported
  }

  /** Work that took longer than it may has not succeeded. */
  async #failOverdue(): Promise<never> {
    const overdue = this.failure()!
    await this.#sendOutcome({ outcome: 'failure', error: overdue.message }, overdue)
    throw overdue
  }

  async #failUnreported(why: string): Promise<void> {
    this.#reported ??= this.#sendOutcome({ outcome: 'failure', error: why }, new Error(why))
    await this.#reported.catch(() => {})
  }

  /** Until it is acknowledged, or the session is lost. `cause`: the error of a failure. */
  async #sendOutcome(outcome: ReportedOutcome, cause: unknown): Promise<void> {
    this.#progress?.stop()
    const interrupt = new Interrupt()
    this.#reporting = interrupt
    this.#sleep ??= this.#client.clock.stayAwake()
    try {
      if (this.#lost) throw this.lostError()
      if (this.#held) await this.#release(outcome, interrupt)
      this.#trace?.reported(outcome.outcome, cause)
    } catch (error) {
      const failure = interrupt.isStopped ? this.lostError(undefined, UNACKNOWLEDGED) : error
      // What was sent may still arrive, so nothing else is said beside it.
      if (this.#lost && !this.#isSent) this.#giveBack(this.#lost)
      this.#trace?.reported('lost', failure)
      throw failure
    } finally {
      this.#close()
    }
  }

  async #release(outcome: ReportedOutcome, interrupt: Interrupt): Promise<void> {
    const request = (reported: ReportedOutcome) => this.#releaseOf(reported)
    const onOmitted = (result: Json) => this.#noticeOmitted(tooLarge(result))
    this.#isSent = true
    const reply = await sendRelease(this.#client.sender, outcome, { request, interrupt, onOmitted })
    if (reply.status === 'refused') throw this.#refused(reply)
    this.#noteHold()
  }

  /** The server may keep it for the rest of the lease, and its work has ended. */
  #giveBack({ cause, message }: GrantLostError): void {
    if (!this.#held || !isOwnLoss(cause)) return
    cleanUp<'release'>(this.#client, this.#held.session, this.#releaseOf({ outcome: 'failure', error: message }))
  }

  #releaseOf(outcome: ReportedOutcome): InputOf<'release'> {
    const { hold } = this.#held!
    return releaseOf(this.place, { hold, fence: this.fence, traceparent: this.#trace?.traceparent }, outcome)
  }

  #refused(reply: ErrorBody): BatonError {
    const cause = this.#lost?.cause ?? causeOfRefusal(reply)
    if (cause) return new GrantLostError(cause, this.#subject)
    const { hold, session } = this.#held!
    cleanUp<'cancel'>(this.#client, session, { type: 'cancel', ...this.place, hold })
    return new RefusedError(reply.code, this.#about(reply.message), this.#subject)
  }

  #noticeOmitted(why: string): void {
    this.#client.notice(`the result of ${this.operation} ${this.resource} is not told to others: ${why}`)
  }

  #lose(cause: LossCause): void {
    if (this.#lost) return
    this.#lost = new GrantLostError(cause, this.#subject)
    this.#end?.abort(this.#lost)
    this.#trace?.lost(this.#lost)
    if (!this.#reported) this.#close()
  }

  get #subject(): ErrorSubject {
    const { namespace, operation, resource } = this.place
    return { namespace, operation, resource }
  }

  #about(text: string): string {
    return aboutSubject(this.#subject, text)
  }

  #close(): void {
    const { open, stream } = this.#client
    this.#isClosed = true
    open.remove(this, this.#openAt)
    stream.unregister(this, this.#listenerAt)
    this.#held?.session.remove(this, this.#userAt)
    this.#progress?.stop()
    this.#leaveStream?.()
    this.#unlink?.()
    this.#cancelLimit?.()
    this.#cancelNotice?.()
    this.#sleep?.()
  }

  #noteHold(): void {
    const { clock, usualHolds } = this.#client
    if (!usualHolds.isSampled(this.#hasLasted)) return
    usualHolds.note(this.place, clock.monoMs() - this.#sinceMs, this.#hasLasted)
  }

  #sayProgress(progress: Json): void {
    if (this.#reported || this.#lost || !this.#held) return
    this.#progress ??= new ProgressReport(this.#client, this, (reply) => {
      const cause = causeOfRefusal(reply)
      if (cause && !this.#reported) this.#lose(cause)
    })
    this.#progress.say(progress)
  }
}
