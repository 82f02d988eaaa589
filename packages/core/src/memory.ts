import { type ActorName, isNamed } from './actor.ts'
import { isContradicted, isInDoubt } from './contradiction.ts'
import { memoriesToWrite } from './in-memory.ts'
import { type Answer, refused } from './reply.ts'
import { type AskName, type KeptAnswer, type Remembered, SHARED_HOLD } from './state.ts'
import { ANSWER_MS, RELEASED_MS, type Turn } from './turn.ts'

/** An ask as it is remembered: who asked for what, by which hold id. */
type AskKey = AskName & ActorName

/** What the same ask would say once more. One that says otherwise is another ask. */
interface Said {
  readonly revision?: string | undefined
  readonly disbelieve?: number | undefined
}

/** What is remembered of an ask. Under one owner and hold id there may be asks of several nodes. */
export function recall<Value extends Memory>(
  turn: Turn,
  memories: Remembered<Value>,
  ask: AskKey,
  isWanted: (memory: Value) => boolean = () => true,
): Value | undefined {
  if (memories.size === 0) return undefined
  return memories.of(ask).find((memory) => isOf(turn, memory, ask) && isWanted(memory))
}

interface Memory {
  readonly node?: string | undefined
  readonly untilMs: number
}

/** What names no node is anybody's: a cancellation by one who may act for all. */
function isOf(turn: Turn, { node }: Memory, { node: wanted, owner }: AskKey): boolean {
  return node === undefined || isNamed(turn, { node, owner }, { node: wanted, owner })
}

/**
 * An ask has its final answer. It is kept for it, should it ask again. One with a hold id of its own has ended with it, and
 * a delayed duplicate changes nothing. The shared hold id says nothing of who asks: its answer is given once, and a refusal
 * is not worth keeping, as what asks next is a new ask.
 */
export function keepAnswer(turn: Turn, ask: AskKey & Said, answer: Answer): void {
  const { resource, nowMs } = turn
  const { node, hold, revision, disbelieve } = ask
  const isShared = hold === SHARED_HOLD
  if (isShared && answer.status === 'refused') return
  const kept: KeptAnswer = {
    node,
    revision,
    disbelieve,
    answer,
    after: resource.successes,
    untilMs: nowMs + ANSWER_MS,
  }
  if (isShared || answer.status === 'refused') memoriesToWrite(resource, 'answers').set(ask, kept)
  else {
    const reply = refused('unknown-grant')
    memoriesToWrite(resource, 'released').set(ask, { node, fence: 0, reply, kept, untilMs: nowMs + RELEASED_MS })
  }
}

/** What this ask was told, where it is to be told so again. With the shared hold id that is once. */
export function keptAnswer(turn: Turn, ask: AskKey & Said): Answer | undefined {
  const { answers } = turn.resource
  if (answers.size === 0) return undefined
  for (const kept of answers.of(ask)) {
    if (!isOf(turn, kept, ask)) continue
    const isGiven = isGivenAgain(turn, kept, ask)
    if (!isGiven || ask.hold === SHARED_HOLD) answers.delete(ask, kept)
    if (isGiven) return kept.answer
  }
  return undefined
}

/** The answer with this fence has been heard: it is not given again. */
export function forgetAnswer(turn: Turn, ask: AskKey, fence: number): void {
  const { answers } = turn.resource
  for (const kept of answers.of(ask)) {
    const isHeard = 'fence' in kept.answer && kept.answer.fence === fence
    if (isHeard && isOf(turn, kept, ask)) answers.delete(ask, kept)
  }
}

/** This ask, of whichever nodes are meant, has ended and is not spoken of again. */
export function forgetEnded(turn: Turn, ask: AskKey): void {
  const { released } = turn.resource
  if (released.size === 0) return
  for (const ended of released.of(ask)) if (isOf(turn, ended, ask)) released.delete(ask, ended)
}

/** How an ask with a hold id of its own has ended: the answer that it gets, or nothing where it has not. */
export function endedAnswer(turn: Turn, ask: AskKey & Said): Answer | undefined {
  if (ask.hold === SHARED_HOLD) return undefined
  const { released } = turn.resource
  const ended = recall(turn, released, ask)
  if (!ended?.kept) return ended && refused('hold-ended')
  const { kept } = ended
  if (kept.untilMs <= turn.nowMs && isRepeated(turn, kept, ask)) return refused('hold-ended')
  if (isGivenAgain(turn, kept, ask)) return kept.answer
  released.delete(ask, ended)
  return undefined
}

/** The answer that is kept for an ask, for a look at it. */
export function lookAtAnswer(turn: Turn, ask: AskKey): Answer | undefined {
  const { answers, released } = turn.resource
  const kept = recall(turn, answers, ask) ?? recall(turn, released, ask)?.kept
  if (!kept || kept.untilMs <= turn.nowMs) return undefined
  return isUntrue(turn, ask.operation, kept) || isUnsure(turn, ask.operation, kept) ? undefined : kept.answer
}

function isGivenAgain(turn: Turn, kept: KeptAnswer, ask: AskKey & Said): boolean {
  return isRepeated(turn, kept, ask) && !isUnsure(turn, ask.operation, kept)
}

/** It says what it said when it was told, and nothing has come since that makes its answer untrue. */
function isRepeated(turn: Turn, kept: KeptAnswer, ask: AskKey & Said): boolean {
  const { answer, revision, disbelieve } = kept
  if (answer.status === 'refused' && answer.code === 'cancelled') return true
  return revision === ask.revision && disbelieve === ask.disbelieve && !isUntrue(turn, ask.operation, kept)
}

/** A success has come since that contradicts it. */
function isUntrue(turn: Turn, operation: string, kept: KeptAnswer): boolean {
  return kept.answer.status === 'skip' && isContradicted(turn, operation, kept)
}

/** One may come: nobody is told meanwhile that the work is there. */
function isUnsure(turn: Turn, operation: string, { answer }: KeptAnswer): boolean {
  return answer.status === 'skip' && isInDoubt(turn, operation)
}
