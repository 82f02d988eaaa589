import type { Random } from '../random.ts'

/** One call of the SDK by a client of the harness. */
export interface Call {
  readonly kind: 'run' | 'acquire' | 'reference' | 'revoke'
  readonly operation: string
  readonly resource: string
  readonly workMs: number
  readonly ends: 'success' | 'failure' | 'permanent' | 'no-effect'
  /** It changes what others may do with the resource, so most go without. */
  readonly reference: boolean
  readonly waitMs?: number
  readonly revision?: string
  readonly abortAfterMs?: number
  readonly verify?: boolean
  readonly force?: boolean
  readonly queueing?: false
  /** Shares its owner with the other calls of its client that do. */
  readonly sharedOwner?: boolean
}

const KINDS = [...Array<'run'>(15).fill('run'), ...Array<'acquire'>(4).fill('acquire'), 'reference', 'revoke'] as const

/** Drawn so that clients meet: few resources, many operations, every way for the work to end. */
export function drawCall(
  random: Random,
  { resources, ttlMs }: { readonly resources: number; readonly ttlMs: number },
): Call {
  return {
    kind: random.pick(KINDS),
    operation: random.pick(['pull', 'pull', 'pull', 'update', 'update', 'delete', 'lock', 'lock', 'lock']),
    resource: `r${random.integer(resources)}`,
    workMs: random.pick([0, 1, 5, 20, 50, 100, 200, random.chance(0.3) ? ttlMs * 0.7 : 20]),
    ends: random.pick(['success', 'success', 'success', 'success', 'failure', 'failure', 'permanent', 'no-effect']),
    reference: random.chance(0.1),
    ...(random.chance(0.3) && { waitMs: random.pick([0, 100, 500, 2_000, 10_000]) }),
    // A pull of one revision is kept for an hour: it takes new ones for work to go on.
    ...(random.chance(0.7) && { revision: `v${random.integer(20)}` }),
    ...(random.chance(0.1) && { abortAfterMs: random.integer(1_000) }),
    ...(random.chance(0.1) && { verify: random.chance(0.5) }),
    ...(random.chance(0.1) && { force: true }),
    ...(random.chance(0.05) && { queueing: false }),
    ...(random.chance(0.1) && { sharedOwner: true }),
  }
}
