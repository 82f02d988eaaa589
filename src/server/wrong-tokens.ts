import type { Duplex } from 'node:stream'
import type { Log, Timers } from '../service/index.ts'
import { UnknownToken } from './guard.ts'

/** So many in a round are answered at once: whoever mistypes, or has an old token, is told so. */
const AT_ONCE = 5
const DELAY_MS = 1_000
const ROUND_MS = 60_000
const NETWORKS_MAX = 10_000
/** Answers that wait, of one network and in all. Each holds a connection. */
const WAITING_MAX = { network: 50, all: 1_000 }

interface Guesses {
  count: number
  waiting: number
}

/**
 * Whoever tries one token after another is slowed down, and the operator is told. A token that is known is never slowed, nor
 * is anybody for what comes from elsewhere.
 */
export class WrongTokens {
  readonly #timers: Timers
  readonly #log: Log
  /** Those of this round, by where they came from. */
  readonly #networks = new Map<string, Guesses>()
  #waiting = 0
  /** That the log has not told of. */
  #untold = 0
  #isRound = false

  constructor({ timers, log }: { readonly timers: Timers; readonly log: Log }) {
    this.#timers = timers
    this.#log = log
  }

  /** Resolves when this refusal may be answered. Where too many wait for that, the connection is closed. */
  async slow(refusal: unknown, connection: Duplex & { readonly remoteAddress?: string }): Promise<void> {
    if (!(refusal instanceof UnknownToken)) return
    const network = networkOf(connection.remoteAddress ?? '')
    const guesses = this.#noted(network)
    if (guesses.count <= AT_ONCE) return
    if (guesses.waiting >= WAITING_MAX.network || this.#waiting >= WAITING_MAX.all) {
      connection.destroy()
      return
    }
    guesses.waiting++
    this.#waiting++
    await new Promise<void>((resolve) => this.#timers.after(DELAY_MS, resolve))
    guesses.waiting--
    this.#waiting--
  }

  #noted(network: string): Guesses {
    const guesses = this.#networks.get(network) ?? { count: 0, waiting: 0 }
    guesses.count++
    const [oldest] = this.#networks.size >= NETWORKS_MAX ? this.#networks.keys() : []
    if (guesses.count === 1 && oldest !== undefined) this.#networks.delete(oldest)
    this.#networks.set(network, guesses)
    this.#untold++
    if (!this.#isRound) {
      this.#tell()
      this.#beginRound()
    }
    return guesses
  }

  #beginRound(): void {
    this.#isRound = true
    this.#timers.after(ROUND_MS, () => {
      this.#isRound = false
      if (this.#untold > 0) {
        this.#tell()
        this.#beginRound()
      }
      this.#networks.clear()
    })
  }

  #tell(): void {
    const [mostFrom] = [...this.#networks].reduce((most, each) => (each[1].count > most[1].count ? each : most))
    this.#log('wrong tokens', { count: this.#untold, networks: this.#networks.size, mostFrom })
    this.#untold = 0
  }
}

/** An IPv4 address; of an IPv6 address the first half, as whoever has one has all of those. */
function networkOf(address: string): string {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (v4 !== undefined) return v4
  const [before = '', after = ''] = address.split('::')
  const groupsIn = (text: string) => (text === '' ? [] : text.split(':'))
  const zeros = Array(Math.max(0, 8 - groupsIn(before).length - groupsIn(after).length)).fill('0')
  return `${[...groupsIn(before), ...zeros, ...groupsIn(after)].slice(0, 4).join(':')}::/64`
}
