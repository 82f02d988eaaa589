import { errors, type ReplyOf, type RequestType } from '@baton-lock/protocol'
import type { ClientClock } from '../clock.ts'
import type { InputOf, Transport } from '../connection/transport.ts'
import type { Environment } from '../environment.ts'
import { type ErrorSubject, errorAbout, refusedError, UnavailableError } from '../errors.ts'
import { Backoff } from './backoff.ts'
import type { Interrupt } from './interrupt.ts'

/** How a request is tried: once, unless there is `leftMs`. */
export interface Tries {
  /** How long it may still be tried. Asked before every try, as the answer may depend on what has happened meanwhile. */
  leftMs?(): number
  /** The longest that one try may take. */
  readonly timeoutMs?: number
  /** How many tries of the same request were made before: every try may take longer than the one before. */
  readonly tries?: number
  /** The longest pause between two tries. */
  readonly pauseMaxMs?: number
  /** Ends it early. */
  readonly interrupt?: Interrupt
  /** Called before another try, with the reason why the last one had no reply. */
  onRetry?(error: UnavailableError): void
}

/** A request, or a function that makes it anew for every try. */
type Source<Type extends RequestType> = InputOf<Type> | (() => InputOf<Type> | Promise<InputOf<Type>>)

/** How long a request that waits in no queue is tried before it fails. */
export const FIRST_CONTACT_MS = 5_000

/** A server that drops packets must be left while there is time to ask another; a slow one needs time to reply. */
const TRY_FIRST_MS = 2_000
const TRY_LAST_MS = 10_000
/** A try that was shorter fails for want of time: the reason of the one before says more. */
const TELLING_MS = 500

const ONCE: Tries = {}

/** A request, until it is settled. */
interface Call<Type extends RequestType> {
  readonly source: Source<Type>
  readonly how: Tries
  readonly resolve: (reply: ReplyOf<Type>) => void
  readonly reject: (error: unknown) => void
  tries: number
  backoff: Backoff | undefined
}

/** Sends requests, and repeats those that get no reply. Knows since when there has been none. */
export class Sender {
  readonly #transport: Transport
  readonly #environment: Environment
  #lastSignMs: number
  /** Why there is no reply, as long as there is none. */
  #lost: UnavailableError | undefined
  #hasNoticed = false

  constructor(transport: Transport, environment: Environment) {
    this.#transport = transport
    this.#environment = environment
    this.#lastSignMs = environment.clock.monoMs()
  }

  /** When Baton last gave a sign of life, by the monotonic clock. */
  get lastSignMs(): number {
    return this.#lastSignMs
  }

  /** Rejects with an `UnavailableError` if no reply came, and with the reason of the interrupt if that was stopped. */
  request<Type extends RequestType>(source: Source<Type>, how: Tries = ONCE): Promise<ReplyOf<Type>> {
    return new Promise((resolve, reject) => {
      how.interrupt?.watch(reject)
      this.#try<Type>({ source, how, resolve, reject, tries: how.tries ?? 0, backoff: undefined })
    })
  }

  /** A request that waits in no queue: tried for some seconds. Refusals are thrown. Errors say what the request is about. */
  async query<Type extends RequestType>(
    request: InputOf<Type>,
  ): Promise<Exclude<ReplyOf<Type>, { status: 'refused' }>> {
    const { clock } = this.#environment
    // Between two tries nothing else keeps the process alive: it would end before its caller has a reply.
    const sleep = clock.stayAwake()
    try {
      const reply = await this.request<Type>(request, { leftMs: within(clock, FIRST_CONTACT_MS) })
      if (reply.status === 'refused') throw refusedError(reply)
      return reply as Exclude<ReplyOf<Type>, { status: 'refused' }>
    } catch (error) {
      const { namespace, operation, resource } = request as ErrorSubject
      throw errorAbout(error, { namespace, operation, resource })
    } finally {
      sleep()
    }
  }

  /** Baton gave a sign of life, with a reply or an event. */
  noteSign(): void {
    this.#lastSignMs = this.#environment.clock.monoMs()
    if (this.#hasNoticed) this.#environment.notice('Baton answers again')
    this.#hasNoticed = false
    this.#lost = undefined
  }

  /** Makes the request, unless it is made, and sends it once. */
  #try<Type extends RequestType>(call: Call<Type>, request?: InputOf<Type>): void {
    const { source, how } = call
    if (how.interrupt?.isStopped) return
    try {
      const made = request ?? (typeof source === 'function' ? source() : source)
      if (made instanceof Promise) {
        made.then((request) => this.#try(call, request)).catch((error) => this.#failed(call, error))
        return
      }
      const timeoutMs = limitMs(how, call.tries)
      this.#transport.send<Type>(made, timeoutMs, (reply, error) => {
        const failure = reply ? failureIn(reply) : error
        if (reply && !failure) {
          this.noteSign()
          call.resolve(reply)
        } else if (how.interrupt?.isStopped) call.reject(failure)
        else this.#failed(call, failure instanceof UnavailableError ? this.#noteSilence(failure, timeoutMs) : failure)
      })
    } catch (error) {
      call.reject(error)
    }
  }

  /** Tries again after a pause, if there is time for it. */
  #failed<Type extends RequestType>(call: Call<Type>, error: unknown): void {
    const { how } = call
    const { clock, random } = this.#environment
    if (how.interrupt?.isStopped) return
    if (error instanceof UnavailableError && how.leftMs) {
      call.backoff ??= new Backoff(random, how.pauseMaxMs)
      const delayMs = call.backoff.nextWithinMs(how.leftMs())
      if (delayMs !== undefined) {
        call.tries++
        how.onRetry?.(error)
        clock.after(delayMs, () => this.#try(call))
        return
      }
    }
    call.reject(error)
  }

  #noteSilence(error: UnavailableError, timeoutMs: number): UnavailableError {
    if (!this.#hasNoticed && !error.isAnnounced) {
      this.#hasNoticed = true
      this.#environment.notice(`${error.message.replace(/\.$/, '')}; trying again`)
    }
    if (!this.#lost || timeoutMs >= TELLING_MS) this.#lost = error
    return this.#lost
  }
}

/** What is left of so much time from now on, to be asked again and again. */
export function within(clock: ClientClock, ms: number): () => number {
  const endMs = clock.monoMs() + ms
  return () => endMs - clock.monoMs()
}

function limitMs(how: Tries, tries: number): number {
  const limitMs = Math.min(TRY_LAST_MS, TRY_FIRST_MS * 2 ** Math.min(tries, 10), how.timeoutMs ?? Infinity)
  return how.leftMs ? Math.min(limitMs, Math.max(1, how.leftMs())) : limitMs
}

/** A server that cannot answer counts as one that does not. */
function failureIn(reply: ReplyOf<RequestType>): UnavailableError | undefined {
  if (reply.status !== 'refused' || !(errors[reply.code]?.status >= 500)) return undefined
  return new UnavailableError(reply.message)
}
