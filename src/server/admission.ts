import type { Request, Who } from '../protocol/index.ts'
import type { Asked, LogFields } from '../service/index.ts'
import type { Audit, OnAnswer } from './audit.ts'
import type { Asker, Guard } from './guard.ts'
import type { NameOf, RequestLog } from './request-log.ts'

/** What the service is asked, and whom to tell of the answer: nobody nearly always. */
export interface Admitted extends Asked {
  readonly onAnswer?: OnAnswer | undefined
}

/** A request of somebody who was let in: what becomes of it is decided here, wherever it came from. */
export class Admission {
  readonly #guard: Guard
  readonly #audit: Audit
  readonly #requestLog: RequestLog

  constructor(guard: Guard, audit: Audit, requestLog: RequestLog) {
    this.#guard = guard
    this.#audit = audit
    this.#requestLog = requestLog
  }

  /**
   * What the service is asked; or the answer, where the server itself knows it. Throws where it may not be asked. `nameOf`: by
   * what it is found in the log, and the `number` that it is asked with.
   */
  admit(asker: Asker, request: Request, nameOf: NameOf, number = 0): Admitted | Who {
    const isTold = this.#requestLog.isDebug || this.#audit.wants(asker, request)
    const onAnswer = isTold ? this.#onAnswer(asker, request, nameOf(number)) : undefined
    try {
      const facts = this.#guard.check(asker, request)
      return request.type === 'get-who' ? this.#guard.who(asker) : { request, facts, onAnswer }
    } catch (error) {
      onAnswer?.(undefined, error)
      throw error
    }
  }

  #onAnswer(asker: Asker, request: Request, name: LogFields): OnAnswer {
    const audited = this.#audit.wants(asker, request) ? this.#audit.of(asker, request, name) : undefined
    return (reply, error) => {
      audited?.(reply, error)
      if (this.#requestLog.isDebug) this.#requestLog.answered(name, request, reply, error)
    }
  }
}
