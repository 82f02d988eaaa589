import type { Facts } from '../core/index.ts'
import { type ErrorBody, errorBody, type ServiceRequest } from '../protocol/index.ts'
import type { DirectSteps, Store } from '../stores/store.ts'
import type { StoreAvailability } from './availability.ts'
import { isReading, isStepping, takesLong } from './commands.ts'
import type { ReadBudget } from './read-budget.ts'
import type { AnyReply, Requests } from './requests.ts'
import type { Statistics } from './statistics/statistics.ts'

/** A request that has been checked, and what is known of whoever asks. */
export interface Asked {
  readonly request: ServiceRequest
  readonly facts: Facts
}

/** Given the reply to the request at this place of the list, or what was thrown in its place. */
export type Tell = (index: number, reply: AnyReply | undefined, error?: unknown) => void

/** Requests that were given together, and what becomes of them. */
interface Calling {
  readonly asked: readonly Asked[]
  readonly tell: Tell
  readonly budget: ReadBudget
}

/** What they are answered by. */
interface CallsOptions {
  readonly store: Store
  readonly requests: Requests
  readonly availability: StoreAvailability
  readonly statistics: Statistics | undefined
  /** Answers one that is no step, or is a step of a store in another process. */
  readonly call: (request: ServiceRequest, facts: Facts, budget: ReadBudget) => Promise<AnyReply>
  /** Something may be due earlier than before. */
  readonly arm: () => void
}

/** Requests that come together are answered together, in their order. */
export class Calls {
  readonly #options: CallsOptions

  constructor(options: CallsOptions) {
    this.#options = options
  }

  begin(calling: Calling): void {
    const { direct } = this.#options.store
    if (direct) this.#stepAll(direct, calling, 0)
    else void this.#inTurn(calling)
    this.#options.arm()
  }

  /** Those from a place on, as far as the first that takes long; that one, and what comes after it, follows. */
  #stepAll(direct: DirectSteps, calling: Calling, from: number): void {
    const { requests, availability } = this.#options
    const { asked, tell } = calling
    const replies: (AnyReply | undefined)[] = []
    let end = from
    let durable: Promise<void> | undefined
    try {
      for (; end < asked.length; end++) {
        const { request, facts } = asked[end]!
        if (isStepping(request)) replies.push(requests.answerNow(direct, request, facts))
        else if (takesLong(request)) break
        else {
          replies.push(undefined)
          void this.#callOne(calling, end)
        }
      }
      durable = direct.durable()
    } catch (error) {
      // The store has gone away: of what was done before that in this turn, nobody is told that it counts.
      availability.failed(error)
      for (let index = from; index < asked.length; index++) {
        if (isStepping(asked[index]!.request)) tell(index, undefined, error)
        else if (index >= from + replies.length) void this.#callOne(calling, index)
      }
      return
    }
    const tellAll = (error?: unknown) => {
      for (const [index, reply] of replies.entries())
        if (reply) tell(from + index, error === undefined ? reply : undefined, error)
    }
    if (durable) availability.step(durable).then(() => tellAll(), tellAll)
    else {
      availability.answered()
      tellAll()
    }
    if (end < asked.length) void this.#goOn(direct, calling, end)
  }

  async #goOn(direct: DirectSteps, calling: Calling, from: number): Promise<void> {
    const { asked } = calling
    let next = from
    for (; next < asked.length && takesLong(asked[next]!.request); next++)
      if (!this.#refusesOne(calling, next)) await this.#callOne(calling, next)
    if (next === asked.length) return
    this.#stepAll(direct, calling, next)
    this.#options.arm()
  }

  /** Steps of several resources go together; whatever else there is comes after those before it. */
  async #inTurn(calling: Calling): Promise<void> {
    const under: Promise<void>[] = []
    for (const [index, { request }] of calling.asked.entries()) {
      if (this.#refusesOne(calling, index)) continue
      if (!isStepping(request)) await Promise.all(under.splice(0))
      const called = this.#callOne(calling, index)
      if (isStepping(request)) under.push(called)
      else await called
    }
  }

  /** Whether nothing is to be waited for: all that may be read has been. */
  #refusesOne({ asked, tell, budget }: Calling, index: number): boolean {
    if (!budget.isSpent || !isReading(asked[index]!.request)) return false
    tell(index, notRead(this.#options.statistics))
    return true
  }

  async #callOne({ asked, tell, budget }: Calling, index: number): Promise<void> {
    const { request, facts } = asked[index]!
    let reply: AnyReply | undefined
    let failure: unknown
    try {
      reply = await this.#options.call(request, facts, budget)
    } catch (error) {
      failure = error
    }
    tell(index, reply, failure)
  }
}

/** The answer to a read for which nothing is left. */
export function notRead(statistics: Statistics | undefined): ErrorBody {
  statistics?.answers.refused('not-read')
  return errorBody('not-read')
}
