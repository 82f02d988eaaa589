import type { Attack } from './attack.ts'
import { type Measured, Stage } from './stage.ts'

/** What came of one attack. */
export interface Attempt {
  readonly name: string
  /** Of the victim's cycles, in milliseconds: with nobody else there, and under attack. */
  readonly idleP99: number
  readonly p99: number
  readonly most: number
  readonly peakBytes: number
  /** What should not be, whatever else the machine does. */
  readonly faults: readonly string[]
  /** That the victim had to wait: only where nothing else runs on the machine is that the attack's doing. */
  readonly delays: readonly string[]
}

const P99_MS = 50
const P99_MAX_MS = 500
const MEMORY_MAX = 600 * 1024 * 1024

/** How long the victim is measured alone, and under attack. */
interface Lengths {
  readonly idleMs: number
  readonly attackMs: number
}

/** Runs one attack against a server of its own. */
export async function attempt(attack: Attack, { idleMs, attackMs }: Lengths): Promise<Attempt> {
  const stage = new Stage(attack)
  const faults: string[] = []
  let idle: Measured = NOTHING
  let under: Measured = NOTHING
  try {
    await stage.open()
    // The first one warms the victim and the server up.
    await stage.measure(Math.round(idleMs / 3))
    idle = await stage.measure(idleMs)
    await stage.prepare()
    stage.attack()
    under = await stage.measure(attackMs)
    faults.push(...(await stage.stop()), ...under.wrong)
    if (!(await stage.isAlive())) faults.push('the server does not answer any more')
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error))
  }
  const peakBytes = stage.peakBytes()
  stage.close()
  const [idleP99, p99] = [quantile(idle.cycles, 0.99), quantile(under.cycles, 0.99)]
  const most = quantile(under.cycles, 1)
  const isFastEnough = p99 <= Math.min(P99_MAX_MS, Math.max(P99_MS, 2 * idleP99))
  const delays = isFastEnough ? [] : [`p99 of ${p99.toFixed(0)} ms`]
  if (peakBytes === 0 || peakBytes > MEMORY_MAX) faults.push(`${Math.round(peakBytes / 1024 ** 2)} MiB of memory`)
  return { name: attack.name, idleP99, p99, most, peakBytes, faults, delays }
}

const NOTHING: Measured = { cycles: [], handOvers: [], wrong: [] }

/** NaN of nothing. */
function quantile(times: readonly number[], part: number): number {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
