import type { Request, Who } from '../protocol/index.ts'
import type { Asked } from '../service/index.ts'
import type { Audit, OnAnswer } from './audit.ts'
import type { Asker, Guard } from './guard.ts'

/** What the service is asked, and whom to tell of the answer: nobody nearly always. */
export interface Admitted extends Asked {
  readonly onAnswer?: OnAnswer | undefined
}

/** A request of somebody who was let in: what becomes of it is decided here, wherever it came from. */
export class Admission {
  readonly #guard: Guard
  readonly #audit: Audit

  constructor(guard: Guard, audit: Audit) {
    this.#guard = guard
    this.#audit = audit
  }

  /** What the service is asked; or the answer, where the server itself knows it. Throws where it may not be asked. */
  admit(asker: Asker, request: Request): Admitted | Who {
    const onAnswer = this.#audit.of(asker, request)
    try {
      const facts = this.#guard.check(asker, request)
      return request.type === 'get-who' ? this.#guard.who(asker) : { request, facts, onAnswer }
    } catch (error) {
      onAnswer?.(undefined, error)
      throw error
    }
  }
}
