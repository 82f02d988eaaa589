import type { Request, Who } from '@baton-lock/protocol'
import type { Asked, LogFields } from '@baton-lock/service'
import type { Asker, Guard } from '../auth/guard.ts'
import type { Audit, OnAnswer } from '../logging/audit.ts'
import type { RequestLog } from '../logging/request-log.ts'

/** A request that may be carried out. */
export interface Admitted extends Asked {
  /** Called with the answer, if the audit log or the debug log needs it. */
  readonly onAnswer?: OnAnswer | undefined
}

/** Decides whether somebody may ask something: over HTTP, in a batch and on a stream alike. */
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
   * The request with what is known of its asker, or the answer if the server itself knows it. Throws if it is not allowed.
   * `nameOf`: by what the request is found in the log.
   */
  admit(asker: Asker, request: Request, nameOf: () => LogFields): Admitted | Who {
    const isWatched = this.#requestLog.isDebug || this.#audit.wants(asker, request)
    const onAnswer = isWatched ? this.#onAnswer(asker, request, nameOf()) : undefined
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
