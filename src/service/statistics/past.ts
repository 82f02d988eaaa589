import type { PastGrant } from '../../protocol/index.ts'

/** A grant as it begins. */
type Begun = Pick<
  PastGrant,
  'operation' | 'node' | 'owner' | 'fence' | 'attempt' | 'grantedAtMs' | 'handOver' | 'waitedMs'
>

/** A time or a length that is not known; a number too, so that the field stays one. */
const UNKNOWN = Number.NaN

/** Names and errors of this length count as much as one more grant. */
const LONG = 256

/** A grant, and what has become of it so far. It is used again for another one: there is one for every grant of a server. */
export class Past {
  operation = ''
  node = ''
  owner = ''
  fence = 0
  attempt = 0
  handOver = false
  grantedAtMs = UNKNOWN
  claimedAtMs = UNKNOWN
  waitedMs = UNKNOWN
  skips = 0
  outcome: PastGrant['outcome'] = undefined
  error: string | undefined = undefined
  /** What it counts in the room that there is for all. */
  weight = 0
  #endedAtMs = UNKNOWN

  begin(begun: Begun): void {
    const { operation, node, owner } = begun
    this.operation = operation
    this.node = node
    this.owner = owner
    this.fence = begun.fence
    this.attempt = begun.attempt
    this.handOver = begun.handOver
    this.grantedAtMs = begun.grantedAtMs
    this.claimedAtMs = UNKNOWN
    this.waitedMs = begun.waitedMs ?? UNKNOWN
    this.skips = 0
    this.outcome = undefined
    this.error = undefined
    this.#endedAtMs = UNKNOWN
  }

  /** Of which resource it is counts too: its name is kept with it. */
  weigh(namespace: string, resource: string): void {
    const { operation, node, owner } = this
    const length = namespace.length + resource.length + operation.length + node.length + owner.length
    this.weight = 1 + Math.floor(length / LONG)
  }

  get hasEnded(): boolean {
    return !Number.isNaN(this.#endedAtMs)
  }

  /** Without an outcome: it is not known how. */
  end(atMs: number, outcome?: PastGrant['outcome'], error?: string): void {
    this.#endedAtMs = atMs
    this.outcome = outcome
    this.error = error
    if (error !== undefined) this.weight += Math.floor(error.length / LONG)
  }

  get shown(): PastGrant {
    const { operation, node, owner, fence, attempt, grantedAtMs, outcome, error, handOver, skips } = this
    return {
      ...{ operation, node, owner, fence, attempt, grantedAtMs },
      ...(!Number.isNaN(this.claimedAtMs) && { claimedAtMs: this.claimedAtMs }),
      ...(this.hasEnded && { endedAtMs: this.#endedAtMs }),
      ...(outcome !== undefined && { outcome }),
      ...(error !== undefined && { error }),
      handOver,
      ...(!Number.isNaN(this.waitedMs) && { waitedMs: this.waitedMs }),
      skips,
    }
  }
}
