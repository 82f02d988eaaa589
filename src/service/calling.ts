import type { Facts } from '../core/index.ts'
import type { ServiceRequest } from '../protocol/index.ts'
import type { ReadBudget } from './read-budget.ts'
import type { AnyReply } from './requests.ts'

/** A request that has been checked, and what is known of whoever asks. */
export interface Asked {
  readonly request: ServiceRequest
  readonly facts: Facts
}

/** Given the reply to the request at this place of the list, or what was thrown in its place. */
export type Tell = (index: number, reply: AnyReply | undefined, error?: unknown) => void

/** Requests that were given together, and what becomes of them. */
export interface Calling {
  readonly asked: readonly Asked[]
  readonly tell: Tell
  readonly budget: ReadBudget
}
