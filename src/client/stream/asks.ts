import { errors, type ReplyOf, type RequestType } from '../../protocol/index.ts'
import { ONLY_HOLD } from '../place.ts'
import type { InputOf } from '../transport.ts'

/** It was asked for on several connections: a copy may still be under way on one of them. */
const SEVERAL = 0

/**
 * On which connection each ask was made. One that was made, and is released, on one and the same is never sent again once its
 * release was answered, so the server need not remember it; of all others a copy may still arrive.
 */
export class Asks {
  readonly #connections = new Map<string, number>()

  /** To be asked when the request is sent: whether what it is about was never sent on another connection. */
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

  /** It is sent by another way than a connection: of that, too, a copy may arrive later. */
  sentElsewhere(request: InputOf<RequestType>): void {
    if (request.type === 'acquire') this.#connections.set(nameOf(request), SEVERAL)
  }

  /** After a final answer nothing more is asked under that hold id. Where Baton cannot say, the same is asked again. */
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

/** An owner of its own has one ask, whose hold needs no name of its own. */
function nameOf({ owner, hold }: { readonly owner?: string | undefined; readonly hold?: string | undefined }): string {
  return hold === ONLY_HOLD ? owner! : hold!
}
