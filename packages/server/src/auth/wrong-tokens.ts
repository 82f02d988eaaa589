import type { Duplex } from 'node:stream'
import type { Log, Timers } from '@baton-lock/service'
import { networkOf } from './network.ts'
import { Slowdown } from './slowdown.ts'
import { UnknownToken } from './token-guard.ts'

/**
 * Whoever tries one token after another is slowed down, and the operator is told. A token that is known is never slowed, nor
 * is anybody for what comes from elsewhere.
 */
export class WrongTokens {
  readonly #log: Log
  /** By where they came from. */
  readonly #networks: Slowdown<string>
  /** That the log has not told of. */
  #untold = 0

  constructor({ timers, log }: { readonly timers: Timers; readonly log: Log }) {
    this.#log = log
    this.#networks = new Slowdown(timers, () => this.#tell())
  }

  /** Resolves when this refusal may be answered; `logOf`: of the request. Where too many wait for that, the connection is closed. */
  async slow(
    refusal: unknown,
    connection: Duplex & { readonly remoteAddress?: string },
    logOf: () => Log = () => this.#log,
  ): Promise<void> {
    if (!(refusal instanceof UnknownToken)) return
    const network = networkOf(connection.remoteAddress ?? '')
    const isFirst = this.#networks.size === 0
    this.#networks.note(network)
    this.#untold++
    if (isFirst) this.#tell(logOf())
    await this.#networks.wait(network, connection)
  }

  #tell(log = this.#log): void {
    if (this.#untold === 0) return
    log.warn('wrong tokens', {
      count: this.#untold,
      networks: this.#networks.size,
      mostFrom: this.#networks.most,
    })
    this.#untold = 0
  }
}
