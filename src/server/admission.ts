import type { Request, Who } from '../protocol/index.ts'
import type { Asked } from '../service/index.ts'
import type { Asker, Guard } from './guard.ts'

/** A request of somebody who was let in: what becomes of it is decided here, wherever it came from. */
export class Admission {
  readonly #guard: Guard

  constructor(guard: Guard) {
    this.#guard = guard
  }

  /** What the service is asked; or the answer, where the server itself knows it. Throws where it may not be asked. */
  admit(asker: Asker, request: Request): Asked | Who {
    const facts = this.#guard.check(asker, request)
    return request.type === 'get-who' ? this.#guard.who(asker) : { request, facts }
  }
}
