import type { Acknowledge } from './command.ts'
import { recall } from './memory.ts'
import type { DoneReply } from './reply.ts'
import type { Turn } from './turn.ts'

/** What is remembered for the sake of a repetition goes when there can be none. */
export function acknowledge(turn: Turn, command: Acknowledge): DoneReply {
  const { released } = turn.resource
  const ended = recall(turn, released, command)
  if (ended) released.delete(command, ended)
  return { status: 'done' }
}
