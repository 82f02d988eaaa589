import type {
  ErrorBody,
  GatheredEvent,
  ReplyOf,
  RequestInput,
  RequestType,
  ServerFrame,
  Who,
} from '@baton-lock/protocol'
import { signal } from '@preact/signals'
import type { PageTimers } from './timers.ts'

/** One WebSocket, dialled. */
export interface PageSocket {
  send(text: string): void
  close(): void
}

/** What becomes of a WebSocket. */
export interface SocketHandlers {
  readonly onText: (text: string) => void
  readonly onClose: () => void
}

/** How things stand with the server. */
type Contact =
  | { readonly state: 'connecting' }
  | { readonly state: 'live'; readonly who: Who; readonly store: string }
  /** `sinceMs`, `retryAtMs`: by the clock of the timers. */
  | { readonly state: 'lost'; readonly why: string; readonly sinceMs: number; readonly retryAtMs: number }
  /** A token is needed, or another one. */
  | { readonly state: 'signed-out'; readonly why: string | undefined }

export interface StreamOptions {
  readonly timers: PageTimers
  /** Whom the server takes this page for, with the token that it has; throws where the server does not answer. */
  readonly who: () => Promise<Who | ErrorBody>
  readonly dial: (handlers: SocketHandlers) => PageSocket
  /** Called with each new connection, before anything else is asked on it. */
  readonly onLive: () => void
  readonly onGathered: (event: GatheredEvent) => void
  /** Events may have been missed. */
  readonly onGap: () => void
}

type Input<Type extends RequestType> = Extract<RequestInput, { type: Type }>

interface Call {
  readonly tell: (reply: ReplyOf<RequestType>) => void
  readonly fail: (error: Error) => void
}

/** The connection ended before the answer came. */
export class Disconnected extends Error {
  override readonly name = 'Disconnected'
}

const BACK_OFF = { leastMs: 500, mostMs: 15_000 } as const
/** Nothing comes for so long while an answer is due: it is dead, whatever TCP thinks. */
const SILENCE_MS = 20_000
const REQUESTS_A_FRAME = 200
/** What happens is told so often at most. */
const GATHER_MS = 500

/** The one connection of the page: requests, their replies, and what happens. It comes back by itself. */
export class Stream {
  readonly contact = signal<Contact>({ state: 'connecting' })
  readonly #options: StreamOptions
  readonly #calls = new Map<number, Call>()
  #socket: PageSocket | undefined
  #outbox: [number, RequestInput][] = []
  #lastNumber = 0
  #failures = 0
  #isDraining = false
  #round = 0
  #cancelRetry = () => {}
  #cancelSilence = () => {}

  constructor(options: StreamOptions) {
    this.#options = options
  }

  /** Connects, or connects anew at once. */
  async connect(): Promise<void> {
    const round = this.#end('connected anew')
    if (this.contact.value.state !== 'lost') this.contact.value = { state: 'connecting' }
    let who: Who | ErrorBody
    try {
      who = await this.#options.who()
    } catch (error) {
      if (round === this.#round) this.#lost(`the server does not answer (${(error as Error).message})`)
      return
    }
    if (round !== this.#round) return
    if (who.status !== 'refused') this.#dial(round, who)
    else if (who.code === 'unauthorised') this.contact.value = { state: 'signed-out', why: who.message }
    else this.#lost(who.message)
  }

  /** Ends it; who was signed in is signed out. */
  signOut(why?: string): void {
    this.#end('signed out')
    this.contact.value = { state: 'signed-out', why }
  }

  /** Throws `Disconnected` where the connection ends before the answer. What is asked in one turn goes in one frame. */
  request<Type extends RequestType>(input: Input<Type>): Promise<ReplyOf<Type>> {
    return new Promise((resolve, reject) => {
      if (this.contact.value.state !== 'live') {
        reject(new Disconnected('not connected'))
        return
      }
      const number = ++this.#lastNumber
      this.#calls.set(number, { tell: (reply) => resolve(reply as ReplyOf<Type>), fail: reject })
      this.#outbox.push([number, input])
      if (this.#outbox.length === 1) queueMicrotask(() => this.#flush())
      this.#watchSilence()
    })
  }

  #dial(round: number, who: Who): void {
    const isOver = () => round !== this.#round
    this.#isDraining = false
    this.#socket = this.#options.dial({
      onText: (text) => isOver() || this.#onText(text, who),
      onClose: () => isOver() || this.#lost('the connection ended'),
    })
    this.#watchSilence()
  }

  #onText(text: string, who: Who): void {
    const { store, replies, events, ended, draining } = JSON.parse(text) as ServerFrame
    this.#cancelSilence()
    this.#cancelSilence = () => {}
    if (store !== undefined) this.#begin(who, store)
    for (const [number, reply] of replies ?? []) {
      this.#calls.get(number)?.tell(reply)
      this.#calls.delete(number)
    }
    if (this.#calls.size > 0) this.#watchSilence()
    for (const [, , event] of events ?? []) {
      if (event.type === 'gathered') this.#options.onGathered(event)
      else if (event.type === 'reset') this.#options.onGap()
    }
    if (ended && ended.length > 0) this.#lost(ended[0]![1].message)
    this.#isDraining ||= draining === true
    if (this.#isDraining && this.#calls.size === 0) this.#lost('the server is about to stop')
  }

  #begin(who: Who, store: string): void {
    this.#failures = 0
    this.contact.value = { state: 'live', who, store }
    const scope = { of: 'all', ...(who.namespace !== undefined && { namespace: who.namespace }) } as const
    this.#socket?.send(JSON.stringify({ listen: [{ id: 1, scope, gatherMs: GATHER_MS }] }))
    this.#options.onLive()
  }

  #flush(): void {
    const requests = this.#outbox.splice(0)
    for (let at = 0; at < requests.length; at += REQUESTS_A_FRAME) {
      const some = requests.slice(at, at + REQUESTS_A_FRAME)
      this.#socket?.send(JSON.stringify({ from: some[0]![0], requests: some.map(([, input]) => input) }))
    }
  }

  #watchSilence(): void {
    this.#cancelSilence()
    this.#cancelSilence = this.#options.timers.after(SILENCE_MS, () =>
      this.#lost(`nothing came for ${SILENCE_MS / 1_000} s`),
    )
  }

  /** Tries again by itself, later each time, and not all pages at once. */
  #lost(why: string): void {
    const { timers } = this.#options
    const { contact } = this
    this.#end(why)
    const mostMs = Math.min(BACK_OFF.mostMs, BACK_OFF.leastMs * 2 ** this.#failures++)
    const delayMs = mostMs * (0.5 + timers.random() / 2)
    const nowMs = timers.monoMs()
    const sinceMs = contact.value.state === 'lost' ? contact.value.sinceMs : nowMs
    contact.value = { state: 'lost', why, sinceMs, retryAtMs: nowMs + delayMs }
    this.#cancelRetry = timers.after(delayMs, () => void this.connect())
  }

  /** Whatever is under way is over; returns the number of what comes next. */
  #end(why: string): number {
    this.#cancelRetry()
    this.#cancelSilence()
    this.#socket?.close()
    this.#socket = undefined
    this.#outbox = []
    this.#lastNumber = 0
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const { fail } of calls) fail(new Disconnected(why))
    return ++this.#round
  }
}
