import type { ReplyOf, RequestInput, RequestType } from '@baton-lock/protocol'
import { signal } from '@preact/signals'
import { Disconnected } from './stream.ts'

/** What an operator can have done: one request, and what it is about, for people. */
export interface Deed {
  readonly request: Extract<RequestInput, { type: 'revoke' | 'forget' | 'drop-node' }>
  readonly about: string
}

/** Of those that were not done, why, and the first of them. */
interface Failure {
  readonly code: string
  readonly message: string
  readonly count: number
  readonly about: string
}

export interface DeedsProgress {
  readonly total: number
  readonly done: number
  /** Of `done`: those that the server did not do. */
  readonly failures: readonly Failure[]
  readonly state: 'doing' | 'done' | 'stopped'
}

/** So many are under way at a time: others are answered in between. */
const TOGETHER = 25

/** Has a list of deeds done, a few at a time, and says how far it is. */
export class Deeds {
  readonly progress = signal<DeedsProgress>({ total: 0, done: 0, failures: [], state: 'doing' })
  readonly #deeds: readonly Deed[]
  readonly #request: (input: Deed['request']) => Promise<ReplyOf<RequestType>>
  #isStopped = false

  constructor(deeds: readonly Deed[], request: (input: Deed['request']) => Promise<ReplyOf<RequestType>>) {
    this.#deeds = deeds
    this.#request = request
    this.progress.value = { total: deeds.length, done: 0, failures: [], state: 'doing' }
  }

  /** What is under way is still answered. */
  stop(): void {
    this.#isStopped = true
  }

  async run(): Promise<void> {
    const failures = new Map<string, Failure>()
    let done = 0
    for (let at = 0; at < this.#deeds.length && !this.#isStopped; at += TOGETHER) {
      const some = this.#deeds.slice(at, at + TOGETHER)
      const failed = await Promise.all(some.map((deed) => this.#do(deed)))
      for (const failure of failed) {
        if (!failure) continue
        const before = failures.get(failure.code)
        failures.set(failure.code, before ? { ...before, count: before.count + 1 } : failure)
      }
      done += some.length
      const isOver = done === this.#deeds.length
      this.progress.value = {
        total: this.#deeds.length,
        done,
        failures: [...failures.values()],
        state: isOver ? 'done' : this.#isStopped ? 'stopped' : 'doing',
      }
    }
  }

  async #do({ request, about }: Deed): Promise<Failure | undefined> {
    try {
      const reply = await this.#request(request)
      if (reply.status !== 'refused') return undefined
      return { code: reply.code, message: reply.message, count: 1, about }
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      const message = 'The connection ended before the answer; look whether it was done.'
      return { code: 'disconnected', message, count: 1, about }
    }
  }
}
