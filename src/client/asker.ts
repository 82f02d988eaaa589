import type { Skip } from '../core/index.ts'
import type { AskOptions, Skipped, WhenUnavailable } from './api.ts'
import { Ask } from './ask.ts'
import type { AskSpec } from './ask-spec.ts'
import { UnavailableError } from './errors.ts'
import type { OpenGrant } from './open-grant.ts'
import { Patience } from './patience.ts'
import { askTraced } from './traces/ask-span.ts'
import type { Wiring } from './wiring.ts'
import { WithoutGrant } from './without-grant.ts'

/** Disbelieves whatever is kept. */
const EVERYTHING = Number.MAX_SAFE_INTEGER

const AS_IT_IS = {}

/** Asks for one operation on one resource, as often as it takes, all within one wait limit. */
export class Asker {
  readonly patience: Patience
  readonly #wiring: Wiring
  readonly #spec: AskSpec
  readonly #whenUnavailable: WhenUnavailable

  constructor(
    wiring: Wiring,
    { operation, resource }: { operation: string; resource: string },
    { waitMs, whenUnavailable = wiring.whenUnavailable, force, owner, ...options }: AskOptions,
  ) {
    this.#wiring = wiring
    this.#whenUnavailable = whenUnavailable
    this.patience = new Patience(wiring, { waitMs, whenUnavailable })
    this.#spec = {
      operation,
      resource,
      namespace: options.namespace ?? wiring.namespace,
      ...(typeof owner === 'object' ? { owner: owner.owner, node: owner.node } : { owner }),
      revision: options.revision,
      disbelieve: force ? EVERYTHING : undefined,
      reference: options.reference,
      dropReference: options.dropReference ?? operation === 'delete',
      queueing: options.queueing,
      signal: options.signal,
      onQueued: options.onQueued,
      onProgress: options.onProgress,
      placeEveryMs: options.placeEveryMs,
    }
  }

  /** A grant, perhaps in name only where no server answers, or a skip. */
  ask(more: Pick<AskSpec, 'disbelieve' | 'verified' | 'verifies'> = AS_IT_IS): Promise<OpenGrant | Skip> {
    const spec = more === AS_IT_IS ? this.#spec : { ...this.#spec, ...more }
    const tracer = this.#wiring.findTracer?.()
    const asked = tracer
      ? askTraced({ tracer, wiring: this.#wiring, spec }, (traced) => this.#answerTo(traced))
      : this.#answerTo(spec)
    if (this.#whenUnavailable !== 'run') return asked
    return asked.catch((error) => {
      if (!(error instanceof UnavailableError)) throw error
      if (more.verified) return { status: 'skip', fence: 0 }
      const { namespace, operation, resource, owner = this.#wiring.random.id(), signal } = this.#spec
      return new WithoutGrant(this.#wiring, { namespace, operation, resource, owner, signal })
    })
  }

  #answerTo(spec: AskSpec): Promise<OpenGrant | Skip> {
    return new Ask(this.#wiring, spec, this.patience).answer()
  }
}

/** A skip as callers see it. */
export function skippedOf<Result>({ fence, by, atMs, result, resultOmitted }: Skip): Skipped<Result> {
  return {
    status: 'skipped',
    result: result as Result | undefined,
    resultOmitted: resultOmitted === true,
    fence,
    by,
    at: atMs === undefined ? undefined : new Date(atMs),
  }
}
