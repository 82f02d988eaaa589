import type { Violation } from '../history/check-history.ts'
import type { Plan } from './plan.ts'
import { type RunResult, simulate } from './simulate.ts'

/** The smallest plan that was found to fail in the same way. */
interface Shrunk {
  readonly plan: Plan
  readonly result: RunResult
  readonly violation: Violation
}

/** Takes away from a failing plan what is not needed for it to fail in the same way: halves first, then single pieces. */
export async function shrink(plan: Plan, violation: Violation, { tries = 400 } = {}): Promise<Shrunk> {
  let best: Shrunk = { plan, result: await simulate(plan), violation }
  let left = tries
  const attempt = async (smaller: Plan) => {
    left--
    const result = await simulate(smaller)
    const same = result.violations.find(({ invariant }) => invariant === violation.invariant)
    if (same) best = { plan: smaller, result, violation: same }
    return same !== undefined
  }
  for (
    let size = Math.ceil(plan.actions.length / 2);
    size >= 1 && left > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (const part of ['faults', 'actions'] as const) {
      for (let from = 0; from < best.plan[part].length && left > 0; ) {
        const kept = best.plan[part].filter((_, index) => index < from || index >= from + size)
        if (!(await attempt({ ...best.plan, [part]: kept }))) from += size
      }
    }
  }
  return best
}
