/** An operation is a row of the policy table, not code. */
export interface OperationPolicy {
  /** What a request meets when the resource is free but still referenced. */
  readonly whenReferenced: 'skip' | 'refuse' | 'allow'
  /** What a success means to the waiters of the same key and revision: they skip, or the next one is granted. */
  readonly waitersOnSuccess: 'skip' | 'next'
  /** Whether a success (and a skip) adds the node to the resource's references. */
  readonly addsReference: boolean
  /** Whether a success drops all references: what they vouched for is gone. */
  readonly dropsReferences: boolean
  /** How long a success without a revision is kept, unless the one that reports it says so; 0 keeps none. */
  readonly keepMs: number
  /** The same for a success with a revision. */
  readonly keepRevisionMs: number
  /** So many failures in a row, and the rest of the queue is told 'failed for good'; 0 sets no limit. */
  readonly attempts: number
  /** The pause before a hand-over after a failure. */
  readonly retryDelayMs: number
  /** Operations whose kept successes a success of this one drops. */
  readonly contradicts: readonly string[]
  /** Overrides the namespace's switch for this operation. */
  readonly queueing?: boolean
}

/** The switches of a namespace, and its table of operations. */
export interface NamespacePolicy {
  /** One grant per key, or one per resource. */
  readonly exclusion: 'operation' | 'resource'
  /** Off: a busy key refuses at once and queues nobody. */
  readonly queueing: boolean
  /** On: an update of a referenced resource is refused `in-use`. */
  readonly updateRequiresNoRef: boolean
  /** How long a grant to a waiter stays unclaimed before it passes on. */
  readonly claimMs: number
  /** How many waiters one key may have. */
  readonly queueLimit: number
  readonly operations: Readonly<Record<string, OperationPolicy>>
}

/** The policy of every namespace; one that is not named here has the policy of `default`. */
export interface Policy {
  readonly namespaces: Readonly<Record<string, NamespacePolicy>>
}

const HOUR_MS = 3_600_000

/** What a user-defined row is made of where it says nothing else: the plain mutex. */
export const plainOperation: OperationPolicy = {
  whenReferenced: 'allow',
  waitersOnSuccess: 'next',
  addsReference: false,
  dropsReferences: false,
  keepMs: 0,
  keepRevisionMs: 0,
  attempts: 0,
  retryDelayMs: 0,
  contradicts: [],
}

/** The rows that every table has, unless it says otherwise. */
export const builtInOperations: Readonly<Record<string, OperationPolicy>> = {
  pull: {
    ...plainOperation,
    whenReferenced: 'skip',
    waitersOnSuccess: 'skip',
    addsReference: true,
    keepMs: HOUR_MS,
    keepRevisionMs: HOUR_MS,
    contradicts: ['delete'],
  },
  update: { ...plainOperation, waitersOnSuccess: 'skip', keepRevisionMs: HOUR_MS, contradicts: ['delete'] },
  delete: {
    ...plainOperation,
    whenReferenced: 'refuse',
    waitersOnSuccess: 'skip',
    dropsReferences: true,
    contradicts: ['pull', 'update'],
  },
  lock: plainOperation,
  once: { ...plainOperation, waitersOnSuccess: 'skip' },
  lead: plainOperation,
}

/** An operation of a classic client's own: work that is done once, and of which nothing is kept. */
const unlistedOperation: OperationPolicy = { ...plainOperation, waitersOnSuccess: 'skip' }

/** The policy of a namespace about which nothing is said. */
export const defaultNamespacePolicy: NamespacePolicy = {
  exclusion: 'operation',
  queueing: true,
  updateRequiresNoRef: false,
  claimMs: 5_000,
  queueLimit: 10_000,
  operations: builtInOperations,
}

/**
 * The switches of namespaces that are built in: `default`, and `content`, where the containerd content stores of the nodes
 * meet. Whoever deletes needs one holder per resource.
 */
const builtInNamespaces: Readonly<Record<string, NamespacePolicy>> = {
  default: defaultNamespacePolicy,
  content: { ...defaultNamespacePolicy, exclusion: 'resource' },
}

/** The policy of a store about which nothing is said. */
export const defaultPolicy: Policy = { namespaces: builtInNamespaces }

/** The policy of a namespace: its own, or that of `default`. */
export function policyOf(policy: Policy, namespace: string): NamespacePolicy {
  const own = Object.hasOwn(policy.namespaces, namespace) ? policy.namespaces[namespace] : undefined
  return own ?? policy.namespaces.default ?? defaultNamespacePolicy
}

/** The row of an operation, with the namespace's switches applied; nothing where the table has no such row. */
export function operationOf(policy: NamespacePolicy, operation: string): OperationPolicy | undefined {
  const row = rowIn(policy.operations, operation)
  if (row && operation === 'update' && policy.updateRequiresNoRef) return { ...row, whenReferenced: 'refuse' }
  return row
}

/** The row by which an ask is decided: classic clients may ask for what no row names. */
export function rowOf(
  policy: NamespacePolicy,
  { operation, classic }: { readonly operation: string; readonly classic?: boolean | undefined },
): OperationPolicy | undefined {
  return operationOf(policy, operation) ?? (classic ? unlistedOperation : undefined)
}

/** What users have said: everything else is as built in. */
export interface SaidPolicy {
  readonly namespaces: Readonly<Record<string, SaidNamespace>>
}

interface SaidNamespace extends Partial<Omit<NamespacePolicy, 'operations'>> {
  readonly operations?: Readonly<Record<string, Partial<OperationPolicy>>>
}

/** Built-in rows and columns complete what was said. */
export function completePolicy({ namespaces }: SaidPolicy): Policy {
  const complete: Record<string, NamespacePolicy> = {}
  const said: SaidPolicy['namespaces'] = { default: {}, content: {}, ...namespaces }
  for (const [name, { operations = {}, ...switches }] of Object.entries(said)) {
    const rows: Record<string, OperationPolicy> = { ...builtInOperations }
    for (const [operation, row] of Object.entries(operations))
      rows[operation] = { ...(rowIn(builtInOperations, operation) ?? plainOperation), ...row }
    complete[name] = { ...builtInNamespace(name), ...switches, operations: rows }
  }
  return { namespaces: complete }
}

/** What of a policy is not as built in: that is kept and compared. In an order of its own, so that the same is the same text. */
export function saidIn({ namespaces }: Policy): SaidPolicy {
  const said: Record<string, SaidNamespace> = {}
  for (const [name, { operations, ...switches }] of sortedEntries(namespaces)) {
    const rows: Record<string, Partial<OperationPolicy>> = {}
    for (const [operation, row] of sortedEntries(operations)) {
      const built = rowIn(builtInOperations, operation)
      const changed = difference(row, built ?? plainOperation)
      if (!built || Object.keys(changed).length > 0) rows[operation] = changed
    }
    const { operations: _, ...built } = builtInNamespace(name)
    const own = { ...difference(switches, built), ...(Object.keys(rows).length > 0 && { operations: rows }) }
    if (name !== 'content' || Object.keys(own).length > 0) said[name] = own
  }
  return { namespaces: said }
}

/** Whether two policies say the same. */
export function isSamePolicy(one: Policy, other: Policy): boolean {
  return JSON.stringify(saidIn(one)) === JSON.stringify(saidIn(other))
}

/** What a namespace is made of where it says nothing else. */
export function builtInNamespace(name: string): NamespacePolicy {
  return (Object.hasOwn(builtInNamespaces, name) && builtInNamespaces[name]) || defaultNamespacePolicy
}

type Rows = NamespacePolicy['operations']

function rowIn(rows: Rows, operation: string): OperationPolicy | undefined {
  return Object.hasOwn(rows, operation) ? rows[operation] : undefined
}

function difference<Columns extends object>(columns: Columns, built: Columns): Partial<Columns> {
  const isOther = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify((built as Record<string, unknown>)[name])
  return Object.fromEntries(sortedEntries(columns).filter(isOther)) as Partial<Columns>
}

function sortedEntries<Value>(object: Readonly<Record<string, Value>> | object): [string, Value][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
}
