import type { Acknowledge } from '../command.ts'
import type { DoneReply } from '../reply.ts'
import { forgetEnded } from '../rules/remembered-asks.ts'
import type { Turn } from '../turn.ts'

/** What is remembered for the sake of a repetition goes when there can be none. */
export function acknowledge(turn: Turn, command: Acknowledge): DoneReply {
  forgetEnded(turn, command)
  return { status: 'done' }
}
