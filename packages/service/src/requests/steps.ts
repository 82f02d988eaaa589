import type { Command, Facts, Refused } from '@baton-lock/core'
import {
  type ErrorBody,
  type ErrorCode,
  errorBody,
  jsonBytes,
  type ReplyOf,
  type RequestType,
  refusalOf,
  type ServiceRequest,
} from '@baton-lock/protocol'
import type { Address, StepReply, Store } from '@baton-lock/store/store'
import type { StoreAvailability } from '../availability.ts'
import type { Statistics } from '../statistics/statistics.ts'
import { processMs } from '../timers/clock.ts'
import type { NodeQuotas } from './quotas.ts'

/** A reply as clients get it: a refusal has the message of its code. */
export type Explained<Reply> = Exclude<Reply, Refused> | ErrorBody

/** The reply to any request. */
export type AnyReply = ReplyOf<RequestType>

/** Gets the reply to the request with this index, or the error. */
export type Tell = (index: number, reply: AnyReply | undefined, error?: unknown) => void

/** A command for one resource. */
export interface Step {
  /** By which its reply is told. */
  readonly index: number
  /** The request that it was made from, for statistics; `undefined`: it is not counted. */
  readonly type: ServiceRequest['type'] | undefined
  readonly address: Address
  readonly command: Command
  readonly facts: Facts
}

interface StepsOptions {
  readonly quotas: NodeQuotas
  readonly availability: StoreAvailability
  readonly statistics: Statistics | undefined
  /** The maximum number of waiters of all resources together. */
  readonly waiterLimit: number
  /** The largest result that is passed on to others, in bytes of JSON. */
  readonly resultLimit: number
  /** Called after steps: something may be due earlier than before. */
  readonly arm: () => void
}

const REFERENCES_BUSY =
  'A delete, or another operation that drops all references, is running; add it again when that has ended.'

const TOO_LARGE = { status: 'refused', code: 'too-large' } as const

const NOTHING_KNOWN: Facts = {}

/** Takes all steps of a service: those of requests, of the classic paths, and its own. */
export class Steps {
  readonly #store: Store
  readonly #options: StepsOptions

  constructor(store: Store, options: StepsOptions) {
    this.#store = store
    this.#options = options
  }

  /**
   * Takes steps in their order and passes on each reply. Replies that the store gives at once are passed on together,
   * when the steps are durable; other replies as they come. Returns nothing if all replies were passed on before it
   * returns, otherwise a promise that resolves when all were.
   */
  take(steps: readonly Step[], tell: Tell): Promise<unknown> | undefined {
    const sinceMs = processMs()
    const decided: (readonly [step: Step, reply: AnyReply])[] = []
    const underWay: Promise<void>[] = []
    for (const step of steps) {
      const reply = this.#decide(step)
      if (reply instanceof Promise)
        underWay.push(this.#tellLater(reply, sinceMs, (told, error) => tell(step.index, told, error)))
      else decided.push([step, reply])
    }
    this.#options.arm()
    if (decided.length > 0) {
      const tellAll = (_?: unknown, error?: unknown) => {
        for (const [{ index }, reply] of decided) tell(index, error === undefined ? reply : undefined, error)
      }
      const durable = this.#durable()
      if (durable) underWay.push(this.#tellLater(durable, sinceMs, tellAll))
      else {
        this.#options.availability.answered()
        this.#took(sinceMs)
        tellAll()
      }
    }
    return underWay.length > 0 ? Promise.all(underWay) : undefined
  }

  /** Takes one step, which is not counted as an answer unless it has a type. Resolves when it is durable. */
  takeOne(step: Omit<Step, 'index' | 'type'> & Partial<Pick<Step, 'type'>>): Promise<AnyReply> {
    return new Promise((resolve, reject) => {
      const tell: Tell = (_, reply, error) => (reply ? resolve(reply) : reject(error))
      void this.take([{ type: undefined, ...step, index: 0 }], tell)
    })
  }

  /** An error becomes a rejected promise, so that steps that were taken before it are still checked for durability. */
  #decide(step: Step): AnyReply | Promise<AnyReply> {
    const { address, command, facts } = step
    if (this.#isTooLarge(command)) return this.#explained(step, TOO_LARGE)
    try {
      const reply = this.#store.step(address, command, this.#factsFor(command, facts))
      return reply instanceof Promise ? reply.then((each) => this.#explained(step, each)) : this.#explained(step, reply)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #durable(): Promise<void> | undefined {
    try {
      return this.#store.durable()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async #tellLater<Result>(
    asked: Promise<Result>,
    sinceMs: number,
    tell: (result: Result | undefined, error?: unknown) => void,
  ): Promise<void> {
    let result: Result | undefined
    let failure: unknown
    try {
      result = await this.#options.availability.watch(asked)
    } catch (error) {
      failure = error
    }
    this.#took(sinceMs)
    this.#options.arm()
    tell(result, failure)
  }

  #took(sinceMs: number): void {
    this.#options.statistics?.storeSteps.addMs(processMs() - sinceMs)
  }

  /** The reply as clients get it. It is counted. */
  #explained(step: Step, reply: StepReply<Command> | typeof TOO_LARGE): AnyReply {
    const { type, address, command } = step
    const { statistics } = this.#options
    const explained =
      reply.status === 'refused' ? errorBody(reply.code, this.#messageOf(step, reply.code)) : (reply as AnyReply)
    // A request that skips at once causes no event.
    if (reply.status === 'skip' && command.type === 'acquire')
      statistics?.skipped(address, { operation: command.operation, fence: reply.fence, atMs: this.#store.nowMs() })
    if (type) statistics?.answers.count(type, explained)
    return explained
  }

  /** `undefined`: that of the code. */
  #messageOf({ type, command }: Step, code: ErrorCode): string | undefined {
    if (code === 'too-large')
      return `The result is larger than ${this.#options.resultLimit} bytes; send resultOmitted in its place, or raise the server's result_limit.`
    if (command.type === 'acquire') return refusalOf(code, command.operation).message
    return type === 'add-reference' && code === 'busy' ? REFERENCES_BUSY : undefined
  }

  /** `undefined` if nothing is known. */
  #factsFor(command: Command, facts: Facts): Facts | undefined {
    if (command.type === 'acquire' || command.type === 'add-reference') {
      const { quotas, waiterLimit } = this.#options
      const mayQueue = this.#store.waiting() < waiterLimit
      const full = quotas.factsFor(command.node, facts)
      if (full || !mayQueue) return { ...facts, ...full, ...(!mayQueue && { mayQueue }) }
    }
    if (facts.actsFor === undefined && facts.mayQueue === undefined) return undefined
    // Knowing the id of a session is enough to act for it.
    return command.type === 'leave' ? NOTHING_KNOWN : facts
  }

  #isTooLarge(command: Command): boolean {
    if (command.type !== 'release' || command.outcome !== 'success' || command.result === undefined) return false
    return jsonBytes(command.result) > this.#options.resultLimit
  }
}
