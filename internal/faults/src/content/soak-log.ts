/** What the soak of content stores has done and seen, by the one monotonic clock of its process. */

/** `outage`: of the lock server. `stop`: SIGSTOP of a content store. `union`: mergerfs killed, until it is mounted again. */
type ContentFaultKind = 'outage' | 'stop' | 'kill' | 'union' | 'cut' | 'corrupt' | 'throttle'

export interface ContentFault {
  readonly kind: ContentFaultKind
  /** Whose; of all where it is absent. */
  readonly node?: string
  readonly digest?: string
  readonly fromMs: number
  /** Infinite until it has healed. */
  toMs: number
}

/** One call of `ctr`. */
export interface Call {
  readonly node: string
  readonly what: string
  /** The blobs of the image that it is about. */
  readonly digests: readonly string[]
  readonly fromMs: number
  toMs: number
  /** The harness killed it. */
  isAborted: boolean
  error?: string
  /** It failed because of a blob that containerd itself has collected meanwhile. */
  isCollected?: boolean
}

export interface ContentViolation {
  readonly rule: 'missing' | 'fetched twice' | 'references' | 'left over' | 'failed' | 'stuck' | 'crashed'
  /** A node or a blob. */
  readonly about: string
  readonly what: string
}

export const nowMs = () => performance.now()

/** All that was inflicted, and all that was called. */
export class SoakLog {
  readonly faults: ContentFault[] = []
  readonly calls: Call[] = []
  readonly violations: ContentViolation[] = []

  /** Returns how to say that it has healed. */
  begin(kind: ContentFaultKind, about: Pick<ContentFault, 'node' | 'digest'> = {}): () => void {
    const fault = { kind, ...about, fromMs: nowMs(), toMs: Number.POSITIVE_INFINITY }
    this.faults.push(fault)
    return () => {
      fault.toMs = Math.min(fault.toMs, nowMs())
    }
  }

  /** Whatever has not healed by itself. */
  heal(): void {
    for (const fault of this.faults) fault.toMs = Math.min(fault.toMs, nowMs())
  }

  violated(rule: ContentViolation['rule'], about: string, what: string): void {
    const isKnown = this.violations.some((each) => each.rule === rule && each.about === about && each.what === what)
    if (!isKnown) this.violations.push({ rule, about, what: `at ${(nowMs() / 1_000).toFixed(1)} s: ${what}` })
  }

  /** What it throws is kept, and not thrown. Resolves with whether it did well. */
  async call(
    about: Pick<Call, 'node' | 'what' | 'digests'>,
    work: () => Promise<unknown>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<Call> {
    const call: Call = { ...about, fromMs: nowMs(), toMs: Number.POSITIVE_INFINITY, isAborted: false }
    this.calls.push(call)
    try {
      await work()
    } catch (error) {
      call.error = (error as Error).message
      call.isAborted = signal?.aborted ?? false
    }
    call.toMs = nowMs()
    return call
  }
}
