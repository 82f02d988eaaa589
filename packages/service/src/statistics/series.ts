import { type Outcome, type Policy, policyOf } from '@baton-lock/core'

/** In seconds: work, and waiting for it, takes milliseconds to hours. */
const BOUNDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600]

/** The label of names that are not in the policy, or for which there is no room. */
const OTHER = 'other'

/** How many namespaces and operations have their own label. Later ones are counted as others. */
const NAMED = 500

/** What this process has done for one operation of one namespace. The figures of several processes can be added up. */
export class Series {
  readonly namespace: string
  readonly operation: string
  grants = 0
  handOvers = 0
  skips = 0
  readonly outcomes: Record<Outcome['outcome'], number> = {
    success: 0,
    failure: 0,
    cancelled: 0,
    expired: 0,
    revoked: 0,
  }
  /** From standing in line to the grant or the answer. */
  readonly waiting = new Buckets(BOUNDS)
  /** Until a success or a failure was reported. */
  readonly holding = new Buckets(BOUNDS)

  constructor(namespace: string, operation: string) {
    this.namespace = namespace
    this.operation = operation
  }
}

/** All series by their labels. Labels are names of the policy, so clients cannot make new ones. */
export class AllSeries {
  readonly #all = new Map<string, Map<string, Series>>()
  #policy: Policy
  #size = 0

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** The series of this operation. */
  of(namespace: string, operation: string): Series {
    const [ofNamespace, ofOperation] = this.#labelsOf(namespace, operation)
    return (
      this.#all.get(ofNamespace)?.get(ofOperation) ??
      (this.#size < NAMED ? this.#add(ofNamespace, ofOperation) : this.#other())
    )
  }

  /** Takes the names of a new policy. Series that it does not name are dropped. */
  use(policy: Policy): void {
    this.#policy = policy
    for (const [namespace, series] of this.#all) {
      for (const operation of series.keys()) {
        if (this.#isNamed(namespace, operation)) continue
        series.delete(operation)
        this.#size--
      }
      if (series.size === 0) this.#all.delete(namespace)
    }
  }

  *[Symbol.iterator](): IterableIterator<Series> {
    for (const series of this.#all.values()) yield* series.values()
  }

  /** The labels of an operation. */
  #labelsOf(namespace: string, operation: string): [namespace: string, operation: string] {
    const isNamespace = Object.hasOwn(this.#policy.namespaces, namespace)
    const isOperation = Object.hasOwn(policyOf(this.#policy, namespace).operations, operation)
    return [isNamespace ? namespace : OTHER, isOperation ? operation : OTHER]
  }

  #isNamed(namespace: string, operation: string): boolean {
    const [ofNamespace, ofOperation] = this.#labelsOf(namespace, operation)
    return ofNamespace === namespace && ofOperation === operation
  }

  #other(): Series {
    return this.#all.get(OTHER)?.get(OTHER) ?? this.#add(OTHER, OTHER)
  }

  #add(namespace: string, operation: string): Series {
    const series = new Series(namespace, operation)
    const beside = this.#all.get(namespace)
    if (beside) beside.set(operation, series)
    else this.#all.set(namespace, new Map([[operation, series]]))
    this.#size++
    return series
  }
}

/** A histogram of durations, with bounds in seconds. */
export class Buckets {
  readonly bounds: readonly number[]
  /** Counts per bucket: above the bound before and up to this bound. The last bucket is above all bounds. */
  readonly counts: number[]
  sum = 0
  readonly #boundsMs: readonly number[]

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#boundsMs = bounds.map((bound) => bound * 1_000)
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  addMs(ms: number): void {
    const bounds = this.#boundsMs
    let index = 0
    while (index < bounds.length && ms > bounds[index]!) index++
    this.counts[index]!++
    this.sum += ms / 1_000
  }
}
