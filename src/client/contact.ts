import { errors, type ReplyOf, type RequestType } from '../protocol/index.ts'
import { Backoff } from './backoff.ts'
import { abortable, type ClientClock, pause } from './clock.ts'
import { refusedError, UnavailableError } from './errors.ts'
import type { ClientRandom } from './random.ts'
import type { FindTracer } from './traces/tracer.ts'
import { type CallOptions, type InputOf, promised, type Tell, type Transport } from './transport.ts'

/** Where a client lives: its time, its chance, and where it says what is worth a line in a log. */
export interface Environment {
  readonly clock: ClientClock
  readonly random: ClientRandom
  readonly notice: (notice: string) => void
  /** Absent where no span is to be made. */
  readonly findTracer?: FindTracer | undefined
}

interface TryOptions extends CallOptions {
  /** How many tries of the same request came before. */
  readonly tries?: number
}

/** How long a request that nobody is in line for is tried before its caller is told that nobody answers. */
export const FIRST_CONTACT_MS = 5_000

const TRY_FIRST_MS = 2_000
const TRY_LAST_MS = 10_000
const TELLING_MS = 500
const UNTRACED_MS = 60_000

/** The way to Baton: one try at a time, or as many as patience allows. Knows since when nobody has answered. */
export class Contact {
  readonly #transport: Transport
  readonly #environment: Environment
  #lastHeardAtMs: number
  /** Why nobody answers, while nobody does. */
  #lost: UnavailableError | undefined
  #hasSaidSo = false
  /** Until when the server is not told of spans; 0: it is. */
  #untracedUntilMs = 0

  constructor(transport: Transport, environment: Environment) {
    this.#transport = transport
    this.#environment = environment
    this.#lastHeardAtMs = environment.clock.monoMs()
  }

  /** When Baton last gave a sign of life, by the monotonic clock. */
  get lastHeardAtMs(): number {
    return this.#lastHeardAtMs
  }

  /** One try. Throws `UnavailableError` where nobody answered, and the signal's reason where it was given up. */
  try<Type extends RequestType>(request: InputOf<Type>, options: TryOptions = {}): Promise<ReplyOf<Type>> {
    const { signal } = options
    if (signal?.aborted) return Promise.reject(signal.reason)
    const answer = promised<Type>((tell) => this.send<Type>(request, options, tell))
    return abortable(answer, signal)
  }

  /** One try that is told of instead of promised. */
  send<Type extends RequestType>(request: InputOf<Type>, options: TryOptions, tell: Tell<Type>): void {
    const { signal, tries = 0, timeoutMs = Infinity } = options
    const sent = this.#untracedUntilMs > 0 && isTraced(request) ? this.#asTaken(request) : request
    // A blackholed server must be left for another while the asker still has time, a slow one must get to answer.
    const limitMs = Math.min(timeoutMs, TRY_LAST_MS, TRY_FIRST_MS * 2 ** Math.min(tries, 10))
    const failed = (error: unknown) =>
      tell(undefined, error instanceof UnavailableError && !signal?.aborted ? this.#unheard(error, limitMs) : error)
    const told: Tell<Type> = (reply, error) => {
      if (!reply) return failed(error)
      if (reply.status === 'refused' && isAway(reply.code)) return failed(new UnavailableError(reply.message))
      this.heard()
      if (isNotTaken(reply) && isTraced(sent)) this.#sendUntraced(sent, options, tell)
      else tell(reply)
    }
    const transport = this.#transport
    if (transport.send) transport.send<Type>(sent, { timeoutMs: limitMs }, told)
    else transport.call<Type>(sent, { signal, timeoutMs: limitMs }).then(told, failed)
  }

  /**
   * A server of before there were spans refuses what names one, and does nothing. If it takes the same without, no span is named for
   * a minute; then perhaps another server answers.
   */
  #sendUntraced<Type extends RequestType>(request: InputOf<Type>, options: TryOptions, tell: Tell<Type>): void {
    this.send<Type>(untraced(request), options, (reply, error) => {
      if (reply && !isNotTaken(reply)) this.#untracedUntilMs = this.#environment.clock.monoMs() + UNTRACED_MS
      tell(reply, error)
    })
  }

  #asTaken<Type extends RequestType>(request: InputOf<Type>): InputOf<Type> {
    if (this.#untracedUntilMs > this.#environment.clock.monoMs()) return untraced(request)
    this.#untracedUntilMs = 0
    return request
  }

  /** Tries until there is an answer, or for so long. */
  async retry<Type extends RequestType>(
    request: InputOf<Type>,
    { patienceMs, signal, timeoutMs = Infinity }: CallOptions & { readonly patienceMs: number },
  ): Promise<ReplyOf<Type>> {
    const { clock, random } = this.#environment
    const backoff = new Backoff(random)
    const startMs = clock.monoMs()
    for (;;) {
      const leftMs = startMs + patienceMs - clock.monoMs()
      try {
        return await this.try<Type>(request, {
          signal,
          tries: backoff.tries,
          timeoutMs: Math.min(timeoutMs, Math.max(1, leftMs)),
        })
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        const delayMs = backoff.nextWithinMs(startMs + patienceMs - clock.monoMs())
        if (delayMs === undefined) throw error
        await pause(clock, delayMs, signal)
      }
    }
  }

  /** For requests that nobody is in line for: some seconds of trying, and refusals are thrown. */
  async demand<Type extends RequestType>(
    request: InputOf<Type>,
  ): Promise<Exclude<ReplyOf<Type>, { status: 'refused' }>> {
    // Between two tries nothing else keeps the process alive, and it would end without a word to its caller.
    const sleep = this.#environment.clock.stayAwake()
    const reply = await this.retry<Type>(request, { patienceMs: FIRST_CONTACT_MS }).finally(sleep)
    if (reply.status === 'refused') throw refusedError(reply)
    return reply as Exclude<ReplyOf<Type>, { status: 'refused' }>
  }

  /** Baton gave a sign of life, here or on a stream. */
  heard(): void {
    this.#lastHeardAtMs = this.#environment.clock.monoMs()
    if (this.#hasSaidSo) this.#environment.notice('Baton answers again')
    this.#hasSaidSo = false
    this.#lost = undefined
  }

  /** A last try that had hardly any time fails for want of it: then what an earlier one met says more. */
  #unheard(error: UnavailableError, limitMs: number): UnavailableError {
    if (!this.#hasSaidSo && !error.isAnnounced) {
      this.#hasSaidSo = true
      this.#environment.notice(`${error.message.replace(/\.$/, '')}; trying again`)
    }
    if (!this.#lost || limitMs >= TELLING_MS) this.#lost = error
    return this.#lost
  }
}

/** The server is there, but cannot say: as good as no answer. */
function isAway(code: keyof typeof errors): boolean {
  return errors[code]?.status >= 500
}

function isNotTaken(reply: ReplyOf<RequestType>): boolean {
  return reply.status === 'refused' && reply.code === 'bad-request'
}

function isTraced(request: InputOf<RequestType>): boolean {
  return 'traceparent' in request && request.traceparent !== undefined
}

function untraced<Type extends RequestType>(request: InputOf<Type>): InputOf<Type> {
  return { ...request, traceparent: undefined }
}
