import type { Facts } from '@baton-lock/core'
import { type ErrorBody, errorBody, type ServiceRequest } from '@baton-lock/protocol'
import type { StoreAvailability } from '../availability.ts'
import type { Statistics } from '../statistics/statistics.ts'
import { commandOf, isReading, isStepping, type Stepping } from './commands.ts'
import { AskerGone, type ReadBudget } from './reads.ts'
import type { Requests } from './requests.ts'
import type { AnyReply, Step, Steps, Tell } from './steps.ts'

/** A checked request, and what is known of its sender. */
export interface Asked {
  readonly request: ServiceRequest
  readonly facts: Facts
}

interface CallsOptions {
  readonly steps: Steps
  readonly requests: Requests
  readonly availability: StoreAvailability
  readonly statistics: Statistics | undefined
  /** The budget of work that runs to its end even if the client has gone. */
  readonly unhurried: ReadBudget
  /** Called after each request: something may be due earlier than before. */
  readonly arm: () => void
}

/** Answers a list of requests in its order. */
export class Calls {
  readonly #options: CallsOptions

  constructor(options: CallsOptions) {
    this.#options = options
  }

  /**
   * Consecutive steps are taken together. Any other request waits until those before it are answered, and those after
   * it wait for its answer. All reads share one budget.
   */
  async answer(asked: readonly Asked[], tell: Tell, budget: ReadBudget): Promise<void> {
    const { steps } = this.#options
    let together: Step[] = []
    const take = (end: number) => {
      const from = end - together.length
      return steps.take(together, (index, reply, error) => tell(from + index, reply, error))
    }
    for (const [index, { request, facts }] of asked.entries()) {
      if (isStepping(request)) {
        together.push({ type: request.type, address: request, command: commandOf(request), facts })
        continue
      }
      if (together.length > 0) await take(index)
      together = []
      await this.#answer(request, facts, budget).then(
        (reply) => tell(index, reply),
        (error) => tell(index, undefined, error),
      )
    }
    // Nothing is awaited if there are only steps: then those that need not wait are told before this returns.
    if (together.length > 0) void take(asked.length)
  }

  async #answer(request: Exclude<ServiceRequest, Stepping>, facts: Facts, budget: ReadBudget): Promise<AnyReply> {
    const { requests, availability, unhurried, arm } = this.#options
    try {
      if (!isReading(request)) return await availability.watch(requests.answer(request, facts, unhurried))
      if (budget.isSpent) return this.#notRead()
      const turn = budget.pause()
      if (turn) await turn
      const reply = await availability.watch(requests.answer(request, facts, budget))
      budget.spend(reply)
      return reply
    } catch (error) {
      if (error instanceof AskerGone) return errorBody('not-read', 'Whoever asked has gone.')
      throw error
    } finally {
      arm()
    }
  }

  #notRead(): ErrorBody {
    this.#options.statistics?.answers.refused('not-read')
    return errorBody('not-read')
  }
}
