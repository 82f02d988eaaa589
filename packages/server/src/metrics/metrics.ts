import type { Service, Timers } from '@baton-lock/service'
import type { Answer } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import { EventLoopDelay } from './event-loop-delay.ts'
import { families, type Measured } from './families.ts'
import { processFigures } from './process-figures.ts'
import { familyText, TEXT_TYPE } from './text-format.ts'

/** What was collected is told to all who ask within so long. */
const KEPT_MS = 1_000
/** A store that has not answered by then is down, as far as metrics are concerned; they are told all the same. */
const STORE_MS = 1_000

interface MetricsOptions {
  readonly service: Service
  readonly timers: Timers
  readonly version: string
  readonly streams: { readonly size: number; readonly cut: number }
  readonly unsent: { readonly bytes: number }
}

/** GET /metrics, for Prometheus: see docs/operations.md. Nothing is measured before somebody asks. */
export class Metrics {
  readonly routes: readonly HttpRoute[] = [{ method: ['GET', 'HEAD'], path: '/metrics', handle: () => this.#answer() }]
  readonly #options: MetricsOptions
  readonly #eventLoop: EventLoopDelay
  #collecting: Promise<string> | undefined
  #last: string | undefined
  #collectedMs = 0

  constructor(options: MetricsOptions) {
    this.#options = options
    this.#eventLoop = new EventLoopDelay(() => options.service.nowMs())
  }

  async #answer(): Promise<Answer> {
    const data = await this.#read()
    return { status: 200, content: { type: TEXT_TYPE, data }, headers: { 'cache-control': 'no-store' } }
  }

  async #read(): Promise<string> {
    if (this.#last !== undefined && this.#options.service.nowMs() - this.#collectedMs < KEPT_MS) return this.#last
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined
    })
    return this.#collecting
  }

  stop(): void {
    this.#eventLoop.stop()
  }

  async #collect(): Promise<string> {
    const measured = await this.#measure()
    const turns = this.#options.service.budget()
    const texts: string[] = []
    for (const [name, family] of Object.entries(families)) {
      // With very many namespaces and operations each may be long: others have their turn in between.
      await turns.pause()
      texts.push(familyText(name, family, family.values(measured)))
    }
    this.#last = texts.join('\n')
    this.#collectedMs = this.#options.service.nowMs()
    return this.#last
  }

  async #measure(): Promise<Measured> {
    const { service, version, streams, unsent } = this.#options
    const [gauged, process] = await Promise.all([this.#gauged(), processFigures()])
    return {
      version,
      storeId: service.storeId,
      statistics: service.statistics,
      gauged,
      requests: service.statistics?.answers.requests ?? {},
      refusals: service.statistics?.answers.refusals ?? {},
      streams,
      unsentBytes: unsent.bytes,
      eventLoop: this.#eventLoop.read(),
      process,
    }
  }

  #gauged(): Promise<Measured['gauged']> {
    const { service, timers } = this.#options
    return new Promise((resolve) => {
      const stop = timers.after(STORE_MS, () => resolve(undefined))
      service
        .gauges()
        .then(resolve, () => resolve(undefined))
        .finally(stop)
    })
  }
}
