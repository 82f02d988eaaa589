import type { InputOf, Transport } from '@baton-lock/client/connection/transport'
import type { Dial, WireEnd, WireHandlers } from '@baton-lock/client/connection/web-socket'
import type { ClientFrame, ReplyOf, RequestType, ServerFrame } from '@baton-lock/protocol'

/** The server's end of a wire that a client has dialled, in the hands of a test. */
export class FarEnd {
  readonly base: string
  readonly frames: ClientFrame[] = []
  readonly #handlers: WireHandlers
  /** What the client is told of how much has not left. */
  unsent = 0
  isClosed = false
  /** To be called when the text has left the client's process. */
  readonly taken: (() => void)[] = []

  constructor(base: URL, handlers: WireHandlers) {
    this.base = base.origin
    this.#handlers = handlers
  }

  /** All requests so far, by their numbers. */
  get requests(): [number, Record<string, unknown>][] {
    return this.frames.flatMap(({ from = 0, requests = [] }) =>
      requests.map((request, index): [number, Record<string, unknown>] => [from + index, { ...request }]),
    )
  }

  greet(store = 'store-1'): void {
    this.say({ store })
  }

  say(frame: ServerFrame): void {
    this.sayText(JSON.stringify(frame))
  }

  /** Answers a request by its number. */
  reply(number: number, reply: object): void {
    this.say({ replies: [[number, reply as never]] })
  }

  sayText(text: string): void {
    this.#handlers.onText(text)
  }

  beat(): void {
    this.#handlers.onBeat()
  }

  end(end: WireEnd): void {
    this.#handlers.onEnd(end)
  }
}

/** Wires that lead to the test, in the order in which they were dialled. */
export function testDial(): { readonly dial: Dial; readonly ends: FarEnd[] } {
  const ends: FarEnd[] = []
  const dial: Dial = (base, handlers) => {
    const end = new FarEnd(base, handlers)
    ends.push(end)
    return {
      send(text, onSent) {
        end.frames.push(JSON.parse(text))
        end.taken.push(onSent)
      },
      get unsent() {
        return end.unsent
      },
      close() {
        end.isClosed = true
      },
    }
  }
  return { dial, ends }
}

/** One try of a request, as a promise. */
export function callBy<Type extends RequestType>(
  transport: Transport,
  request: InputOf<Type> & { readonly type: Type },
  timeoutMs = 10_000,
): Promise<ReplyOf<Type>> {
  return new Promise((resolve, reject) =>
    transport.send<Type>(request, timeoutMs, (reply, error) => (reply ? resolve(reply) : reject(error))),
  )
}
