import { oneLine } from '@baton-lock/protocol'
import type { ClientClock } from './clock.ts'
import type { ClientRandom } from './random.ts'
import type { FindTracer } from './traces/tracer.ts'

/** What a client needs from its process. */
export interface Environment {
  readonly clock: ClientClock
  readonly random: ClientRandom
  /** Told what is worth a line in a log. */
  readonly notice: (notice: string) => void
  /** `undefined` if no spans are wanted. */
  readonly findTracer?: FindTracer | undefined
}

/** The default for notices: warnings of the process, which Node writes to stderr unless the program listens to them. */
export function warn(notice: string): void {
  process.emitWarning(oneLine(notice), 'BatonNotice')
}
