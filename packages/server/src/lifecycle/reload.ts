import type { Server as HttpsServer, ServerOptions as TlsOptions } from 'node:https'
import type { Token } from '@baton-lock/protocol'
import type { Log } from '@baton-lock/service'
import type { App } from '../app.ts'

/** PEM text. */
type Tls = Pick<TlsOptions, 'cert' | 'key' | 'ca'>

interface ReloadOptions {
  readonly log: Log
  /** What the server was started with. */
  readonly tokens: readonly Token[]
  readonly tls: Tls | undefined
  /** What the files say now; throws, with a sentence, where that cannot be used. */
  readonly readTokens: () => readonly Token[]
  readonly readTls: () => Tls | undefined
}

/**
 * Gives a running server the tokens and certificates that its files have now. Each of the two as a whole, and apart from one
 * another: where one is broken, the old one stays in force, and the log says why.
 */
export class Reload {
  readonly #app: App
  readonly #options: ReloadOptions
  #tls: Tls | undefined

  constructor(app: App, options: ReloadOptions) {
    this.#app = app
    this.#options = options
    this.#tls = options.tls
  }

  /** `isAsked`: an operator wants to know that it was done, also where all is as it was. */
  run({ isAsked }: { readonly isAsked: boolean }): void {
    const { log } = this.#options
    try {
      this.#takeTokens(isAsked)
    } catch (error) {
      log.error('tokens not reloaded', { error: (error as Error).message, inForce: 'the old ones' })
    }
    try {
      this.#takeTls(isAsked)
    } catch (error) {
      log.error('certificates not reloaded', { error: (error as Error).message, inForce: 'the old ones' })
    }
  }

  #takeTokens(isAsked: boolean): void {
    const tokens = this.#options.readTokens()
    if (tokens.length === 0 && this.#options.tokens.length === 0) return
    const { added, removed } = this.#app.replaceTokens(tokens)
    if (added.length + removed.length === 0 && !isAsked) return
    this.#options.log.info('tokens reloaded', { tokens: tokens.length, added: added.length, removed: removed.length })
  }

  #takeTls(isAsked: boolean): void {
    const tls = this.#options.readTls()
    if (!tls) return
    const isChanged = JSON.stringify(tls) !== JSON.stringify(this.#tls)
    // Those that have a session of the old one would have to begin anew.
    if (isChanged) (this.#app.server as unknown as HttpsServer).setSecureContext(tls)
    this.#tls = tls
    if (isChanged || isAsked) this.#options.log.info('certificates reloaded', { isChanged })
  }
}
