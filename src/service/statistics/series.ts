import { type Outcome, type Policy, policyOf } from '../../core/index.ts'
import { Buckets } from './buckets.ts'

/** In seconds: work takes anything from milliseconds to hours, and so does waiting for it. */
const BOUNDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600]

/** What the policy does not name, and what there is no room for. */
const OTHER = 'other'

/** So many namespaces and operations are counted by name. What comes later is counted among the others. */
const NAMED = 500

/** What this process has done for one operation of one namespace, as others add it up over processes. */
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
  /** Of those who stood in line, until they were granted or told. */
  readonly waiting = new Buckets(BOUNDS)
  /** Until a success or a failure was reported. */
  readonly holding = new Buckets(BOUNDS)

  constructor(namespace: string, operation: string) {
    this.namespace = namespace
    this.operation = operation
  }
}

/** All series by their labels: as the policy names them, so that nobody who asks can make one. */
export class AllSeries {
  readonly #all = new Map<string, Map<string, Series>>()
  #policy: Policy
  #size = 0

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** Where what happens to this operation is counted. */
  of(namespace: string, operation: string): Series {
    const [ofNamespace, ofOperation] = this.#labelsOf(namespace, operation)
    return (
      this.#all.get(ofNamespace)?.get(ofOperation) ??
      (this.#size < NAMED ? this.#add(ofNamespace, ofOperation) : this.#other())
    )
  }

  /** Another policy names others. What neither names is not counted any more. */
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

  /** As they are shown. */
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
