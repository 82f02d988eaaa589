import type { Random } from '@baton-lock/store/conformance/random'

/** One call of the SDK. */
export interface Call {
  readonly kind: 'run' | 'acquire' | 'add-reference' | 'release-reference' | 'revoke' | 'drop-node' | 'forget'
  readonly operation: string
  readonly resource: string
  /** The node to drop. */
  readonly node: string
  readonly workMs: number
  readonly ends: 'success' | 'failure' | 'permanent' | 'no-effect'
  readonly waitMs?: number
  readonly revision?: string
  readonly abortAfterMs?: number
  readonly verify?: boolean
  readonly force?: boolean
  readonly queueing?: false
  readonly reference?: false
  /** Its owner is the one of all calls of its client that have this. */
  readonly sharedOwner?: true
}

/** In what the calls of the simulator and those of real processes differ. */
export interface Choices {
  readonly resources: number
  readonly nodes: readonly string[]
  readonly workMs: readonly number[]
  /** A pull of one revision is kept for an hour: a long run needs new ones for work to go on. */
  readonly revisions: number
  readonly revisionRate: number
  /** How often a success leaves a reference, which keeps others from deleting the resource. */
  readonly referenceRate: number
}

const KINDS = [
  ...Array<'run'>(14).fill('run'),
  ...Array<'acquire'>(3).fill('acquire'),
  ...(['add-reference', 'release-reference', 'release-reference', 'revoke'] as const),
]
const OPERATIONS = ['pull', 'pull', 'pull', 'update', 'update', 'delete', 'delete', 'lock', 'lock', 'lock']
const ENDS = ['success', 'success', 'success', 'success', 'failure', 'failure', 'permanent', 'no-effect'] as const

/** Drawn so that clients meet: few resources, all operations, every way for the work to end. */
export function drawCall(random: Random, choices: Choices): Call {
  return {
    kind: random.chance(0.01) ? 'drop-node' : random.pick(KINDS),
    operation: random.pick(OPERATIONS),
    resource: `r${random.integer(choices.resources)}`,
    node: random.pick(choices.nodes),
    workMs: random.pick(choices.workMs),
    ends: random.pick(ENDS),
    ...(random.chance(0.25) && { waitMs: random.pick([0, 100, 500, 2_000, 10_000]) }),
    ...(random.chance(choices.revisionRate) && { revision: `v${random.integer(choices.revisions)}` }),
    ...(random.chance(0.1) && { abortAfterMs: random.integer(2_000) }),
    ...(random.chance(0.15) && { verify: random.chance(0.5) }),
    ...(random.chance(0.1) && { force: true }),
    ...(random.chance(0.05) && { queueing: false }),
    ...(!random.chance(choices.referenceRate) && { reference: false }),
    ...(random.chance(0.1) && { sharedOwner: true }),
  }
}
