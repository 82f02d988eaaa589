import type { Environment } from '../environment.ts'
import { refusedError } from '../errors.ts'
import { type LossCause, lossText } from '../loss.ts'
import { Backoff } from '../requests/backoff.ts'
import type { Sender } from '../requests/sender.ts'
import { List } from './list.ts'

/** A request or a grant of a session. */
export interface SessionUser {
  onSessionLost(cause: LossCause): void
}

/** A time by both clocks. */
interface Moment {
  readonly monoMs: number
  readonly wallMs: number
}

interface SessionStart {
  readonly id: string
  readonly ttlMs: number
  /** When the request that opened it was sent. */
  readonly sentAt: Moment
  readonly onRenewed: (session: Session, places: number) => void
}

const MARGIN_MIN_MS = 200
const MARGIN_MAX_MS = 5_000
/** Timers come late after the machine has slept, so none is set for longer than this. */
const CHECK_MS = 1_000

/**
 * One session, from its opening to its loss. It is renewed while it has users, and lapses otherwise.
 *
 * It counts as lost before the server can end it: its ttl counts from when the last renewal was SENT, less a margin, and it is lost
 * when EITHER clock has passed that. The monotonic clock stands still while the machine sleeps; the wall clock may jump.
 */
export class Session {
  readonly id: string
  readonly ttlMs: number
  readonly #sender: Sender
  readonly #environment: Environment
  readonly #users = new List<SessionUser>()
  readonly #backoff: Backoff
  readonly #onRenewed: SessionStart['onRenewed']
  #renewedAt: Moment
  #retryAtMs = 0
  #renewing = false
  #isArmed = false
  /** When it was last checked, and when the next check is due. */
  #checkedAt: Moment
  #checkDueMs = Infinity
  /** Why the last renewal was refused. */
  #refusal: string | undefined
  #lost: LossCause | undefined
  #cancelTimer = () => {}

  constructor(sender: Sender, environment: Environment, { id, ttlMs, sentAt, onRenewed }: SessionStart) {
    this.id = id
    this.ttlMs = ttlMs
    this.#sender = sender
    this.#environment = environment
    this.#renewedAt = sentAt
    this.#checkedAt = sentAt
    this.#onRenewed = onRenewed
    this.#backoff = new Backoff(environment.random, ttlMs / 10)
  }

  /** Reads the clocks, so it is right even if a timer is late. */
  isAlive(): boolean {
    return this.remainingMs() > 0
  }

  /** How long it lives without another renewal; 0 once it is lost. Reads the clocks, too. */
  remainingMs(): number {
    if (this.#lost) return 0
    const now = this.#now()
    const leftMs = this.#leftMs(now)
    if (leftMs <= 0) this.lose(this.#whyTooLate(now))
    return Math.max(0, leftMs)
  }

  /** The check of the timer, if that is late: the event loop had no turn for it. */
  checkIfDue(): void {
    if (this.#environment.clock.monoMs() > this.#checkDueMs) this.isAlive()
  }

  /** It is renewed until all users are removed. If it is lost already, the user is told at once. */
  add(user: SessionUser): number {
    if (this.#lost) {
      user.onSessionLost(this.#lost)
      return -1
    }
    const at = this.#users.add(user)
    if (!this.#isArmed) this.#tick()
    return at
  }

  remove(user: SessionUser, at: number): void {
    this.#users.remove(user, at)
  }

  lose(cause: LossCause): void {
    if (this.#lost) return
    this.#lost = cause
    this.#cancelTimer()
    if (this.#users.size > 0) this.#environment.notice(`session lost: ${lossText(cause)}`)
    for (const user of [...this.#users]) user.onSessionLost(this.#lost)
  }

  #tick(): void {
    this.#cancelTimer()
    // Without users the timer stops, and the next user starts it.
    this.#isArmed = this.#users.size > 0 && this.isAlive()
    if (!this.#isArmed) return
    const now = this.#now()
    const renewInMs = Math.max(this.#renewedAt.monoMs + this.ttlMs / 3, this.#retryAtMs) - now.monoMs
    if (renewInMs <= 0 && !this.#renewing) {
      void this.#renew()
      return
    }
    const delayMs = Math.max(1, Math.min(this.#renewing ? Infinity : renewInMs, this.#leftMs(now), CHECK_MS))
    this.#checkedAt = now
    this.#checkDueMs = now.monoMs + delayMs
    this.#cancelTimer = this.#environment.clock.after(delayMs, () => this.#tick())
  }

  async #renew(): Promise<void> {
    const sentAt = this.#now()
    this.#renewing = true
    this.#tick()
    const timeoutMs = Math.max(MARGIN_MIN_MS, this.ttlMs / 4)
    try {
      const tries = this.#backoff.tries
      const reply = await this.#sender.request<'renew-session'>(
        { type: 'renew-session', session: this.id },
        { tries, timeoutMs },
      )
      if (reply.status === 'alive') this.#renewed(sentAt, reply.places)
      else if (reply.code === 'session-lost') this.lose({ kind: 'session-ended' })
      else {
        this.#refusal = reply.message
        this.#environment.notice(`the session could not be renewed: ${reply.message}`)
        this.#retryLater()
      }
    } catch {
      this.#retryLater()
    } finally {
      this.#renewing = false
      this.#tick()
    }
  }

  #renewed(sentAt: Moment, places: number): void {
    this.#renewedAt = sentAt
    this.#backoff.reset()
    this.#refusal = undefined
    this.#onRenewed(this, places)
  }

  /** If no later try succeeds, the session is lost at its deadline. */
  #retryLater(): void {
    this.#retryAtMs = this.#environment.clock.monoMs() + this.#backoff.nextMs()
  }

  /** The largest share of the time since the last renewal names the cause. */
  #whyTooLate(now: Moment): LossCause {
    const monoMs = now.monoMs - this.#renewedAt.monoMs
    const jumpMs = now.wallMs - this.#renewedAt.wallMs - monoMs
    const lateMs = now.monoMs - this.#checkDueMs
    const silentMs = this.#checkedAt.monoMs - this.#renewedAt.monoMs
    if (jumpMs > Math.max(lateMs, silentMs)) return { kind: 'clock-jumped', byMs: Math.round(jumpMs) }
    if (lateMs > silentMs) {
      return { kind: 'event-loop-blocked', forMs: Math.round(now.monoMs - this.#checkedAt.monoMs) }
    }
    if (this.#refusal !== undefined) return { kind: 'renewal-refused', message: this.#refusal }
    return { kind: 'server-unreachable', since: new Date(this.#renewedAt.wallMs) }
  }

  #leftMs(now: Moment): number {
    const passedMs = Math.max(now.monoMs - this.#renewedAt.monoMs, now.wallMs - this.#renewedAt.wallMs)
    return this.ttlMs - marginMs(this.ttlMs) - passedMs
  }

  #now(): Moment {
    return momentOf(this.#environment)
  }
}

/** The session of a client: opened when one is needed, and again after a loss. */
export class ClientSessions {
  readonly #sender: Sender
  readonly #environment: Environment
  readonly #node: string
  readonly #ttlMs: number
  readonly #onRenewed: SessionStart['onRenewed']
  #current: Session | undefined
  #opening: Promise<Session> | undefined
  #nextId: string
  #tries = 0

  constructor(
    sender: Sender,
    environment: Environment,
    { node, ttlMs, onRenewed }: { readonly node: string } & Pick<SessionStart, 'ttlMs' | 'onRenewed'>,
  ) {
    this.#sender = sender
    this.#environment = environment
    this.#node = node
    this.#ttlMs = ttlMs
    this.#onRenewed = onRenewed
    this.#nextId = environment.random.id()
  }

  get current(): Session | undefined {
    return this.#current?.isAlive() ? this.#current : undefined
  }

  /** The present session, or a new one. Tries once to open it, for all callers together. */
  async alive(): Promise<Session> {
    if (this.current) return this.current
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(): Promise<Session> {
    const sentAt = momentOf(this.#environment)
    // The same id until a reply comes: if a reply is lost, there is still one session only.
    const request = { type: 'open-session', session: this.#nextId, node: this.#node, ttlMs: this.#ttlMs } as const
    const reply = await this.#sender.request<'open-session'>(request, {
      tries: this.#tries++,
      timeoutMs: this.#ttlMs / 2,
    })
    this.#tries = 0
    if (reply.status === 'refused') throw refusedError(reply)
    const start = { id: this.#nextId, ttlMs: reply.ttlMs, sentAt, onRenewed: this.#onRenewed }
    this.#current = new Session(this.#sender, this.#environment, start)
    this.#nextId = this.#environment.random.id()
    return this.#current
  }
}

function momentOf({ clock }: Environment): Moment {
  return { monoMs: clock.monoMs(), wallMs: clock.wallMs() }
}

function marginMs(ttlMs: number): number {
  return Math.min(MARGIN_MAX_MS, Math.max(MARGIN_MIN_MS, ttlMs / 10))
}
