import type { Heard } from '../command.ts'
import type { DoneReply } from '../reply.ts'
import { forgetAnswer } from '../rules/remembered-asks.ts'
import { SHARED_HOLD } from '../state/state.ts'
import type { Turn } from '../turn.ts'

/** Whoever has heard its answer on a stream that names it asks next for something new. */
export function heard(turn: Turn, { askers }: Heard): DoneReply {
  for (const { fence, ...asker } of askers) forgetAnswer(turn, { ...asker, hold: SHARED_HOLD }, fence)
  return { status: 'done' }
}
