import type { Network } from './network.ts'
import type { Process } from './scheduler.ts'

interface Message {
  readonly size: number
  readonly deliver: () => void
}

const RETRY_MIN_MS = 200
const RETRY_MAX_MS = 3_000

/** One way of a connection: what is sent arrives in order, each once at most, late, and up to a certain point. */
export class Way {
  readonly #network: Network
  readonly #from: Process
  readonly #to: Process
  /** Sent and not delivered, oldest first. */
  #under: Message[] = []
  /** So many of them wait for a link that is cut: the last ones. */
  #held = 0
  /** So many of them have arrived and are not read, as the reader has paused. */
  #unread = 0
  #isRead = true
  /** What stands between the two does not pass on what it has. */
  #isStalled = false
  #lastArrivalMs = 0
  /** Nothing that is sent from now on arrives. */
  #isOver = false
  #size = 0

  constructor(network: Network, from: Process, to: Process) {
    this.#network = network
    this.#from = from
    this.#to = to
  }

  /** How much was sent and is not read yet. */
  get size(): number {
    return this.#size
  }

  send(deliver: () => void, size = 0): void {
    if (!this.#from.isDead) this.#push({ size, deliver })
  }

  /** Broken off: of what is under way an end is lost, the rest may be late, and then `tell` is all that arrives. */
  breakOff(tell: (() => void) | undefined): void {
    if (this.#isOver) return
    const { random } = this.#network
    if (random.chance(0.25)) this.#stall(random.next() * this.#network.lateMs)
    const carried = this.#under.length - this.#held
    this.#drop(this.#held + random.integer(carried + 1))
    this.#held = 0
    // A process that has died does not say so itself; its machine does.
    if (tell) this.#push({ size: 0, deliver: tell })
    this.#isOver = true
  }

  pause(): void {
    this.#isRead = false
  }

  resume(): void {
    this.#isRead = true
    this.#network.later(this.#to, 0, () => this.#read())
  }

  #push(message: Message): void {
    if (this.#isOver) return
    this.#under.push(message)
    this.#size += message.size
    const { random } = this.#network
    if (this.#held > 0) this.#held++
    else if (!this.#isCut()) this.#carry()
    else if (random.chance(0.5)) {
      // What stands between the two has forgotten them, and says so to nobody.
      this.#isOver = true
      this.#drop(1)
    } else {
      this.#held++
      this.#retry(RETRY_MIN_MS)
    }
  }

  #stall(forMs: number): void {
    this.#isStalled = true
    this.#network.later(this.#to, forMs, () => {
      this.#isStalled = false
      this.#read()
    })
  }

  #isCut(): boolean {
    return this.#network.isCut(this.#from, this.#to)
  }

  #carry(): void {
    const { nowMs } = this.#network
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs + 0.001, nowMs + this.#network.delayMs())
    this.#network.later(this.#to, this.#lastArrivalMs - nowMs, () => {
      this.#unread++
      this.#read()
    })
  }

  /** Whichever arrival this is, it is the oldest that is delivered: a process that wakes reads them in order. */
  #read(): void {
    while (this.#isRead && !this.#isStalled && this.#unread > 0) {
      this.#unread--
      const message = this.#under.length > this.#held ? this.#under.shift() : undefined
      this.#size -= message?.size ?? 0
      message?.deliver()
    }
  }

  /** It is sent again until the link is whole. */
  #retry(delayMs: number): void {
    this.#network.laterByItself(delayMs, () => {
      if (this.#isCut() && this.#held > 0) return this.#retry(Math.min(2 * delayMs, RETRY_MAX_MS))
      for (; this.#held > 0; this.#held--) this.#carry()
    })
  }

  #drop(count: number): void {
    for (const { size } of this.#under.splice(this.#under.length - count)) this.#size -= size
  }
}
