import { errors, type ReplyOf, type RequestType } from '@baton-lock/protocol'
import { ONLY_HOLD } from '../session/place.ts'
import type { InputOf } from './transport.ts'

/** Sent on several connections: a copy may still arrive on one of them. */
const SEVERAL = 0

/**
 * The connection on which each hold was requested. A hold that was requested and released on one connection is not sent again once
 * its release is answered, so the server need not remember it. Copies of all others may still arrive.
 */
export class SentHolds {
  readonly #connections = new Map<string, number>()

  /** To be called when the request is sent. Returns false if a copy of what it releases may arrive on another connection. */
  isOnOneConnection(request: InputOf<RequestType>, connection: number): boolean {
    switch (request.type) {
      case 'acquire': {
        const name = nameOf(request)
        const before = this.#connections.get(name)
        this.#connections.set(name, before === undefined || before === connection ? connection : SEVERAL)
        return true
      }
      case 'release': {
        const name = nameOf(request)
        const isOne = this.#connections.get(name) === connection
        if (!isOne) this.#connections.set(name, SEVERAL)
        return isOne
      }
      default:
        return true
    }
  }

  /** No request follows a final reply under the same hold id. After a reply of 5xx the same request is sent again. */
  answered(request: InputOf<RequestType>, reply: ReplyOf<RequestType>): void {
    const { status } = reply
    if (reply.status === 'refused' && errors[reply.code]?.status >= 500) return
    const isOver =
      request.type === 'release' ||
      request.type === 'cancel' ||
      (request.type === 'acquire' && status !== 'granted' && status !== 'queued')
    if (isOver) this.#connections.delete(nameOf(request))
  }
}

/** An owner that was made for one request has one hold, whose id is the same for all of them. */
function nameOf({ owner, hold }: { readonly owner?: string | undefined; readonly hold?: string | undefined }): string {
  return hold === ONLY_HOLD ? owner! : hold!
}
