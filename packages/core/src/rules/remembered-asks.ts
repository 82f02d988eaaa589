import { type Answer, type Refused, refused } from '../reply.ts'
import { type ActorName, isNamed, matchesNode } from '../state/actor.ts'
import { memoriesToWrite } from '../state/in-memory.ts'
import {
  type AskName,
  type EndedAsk,
  type KeptAnswer,
  LOST_PLACE,
  type Remembered,
  SHARED_HOLD,
} from '../state/state.ts'
import { ANSWER_MS, RELEASED_MS, REPEAT_MS, type Turn } from '../turn.ts'
import { isContradicted, isInDoubt } from './contradiction.ts'

/** An ask as it is remembered: who asked for what, by which hold id. */
type AskKey = AskName & ActorName

/** Whether it came by the classic paths. */
interface ClassicOrNot {
  readonly classic?: boolean | undefined
}

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

/** A cancellation may be of nobody's node, by one who may act for all, or of a pattern, by one whose token has that. */
function isOf(turn: Turn, { node }: Memory, { node: wanted, owner }: AskKey): boolean {
  if (node === undefined || isNamed(turn, { node, owner }, { node: wanted, owner })) return true
  return wanted !== undefined && matchesNode(node, wanted)
}

/**
 * An ask has its final answer. It is kept for it, should it ask again. One with a hold id of its own has ended with it, and
 * a delayed duplicate changes nothing. The shared hold id says nothing of who asks: its answer is given once, and a refusal
 * is not given at all, as what asks next is a new ask.
 */
export function keepAnswer(turn: Turn, ask: AskKey & Said & ClassicOrNot, answer: Answer): void {
  const { resource, nowMs } = turn
  const { node, hold, revision, disbelieve } = ask
  const isShared = hold === SHARED_HOLD
  if (isShared && answer.status === 'refused') {
    if (ask.classic) keepLostPlace(turn, ask, answer)
    return
  }
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

/** A classic client does not renew, and may look for its place at any server: it learns there that it has to ask again. */
export function keepLostPlace(turn: Turn, ask: AskKey & Said, answer: Refused): void {
  const { resource, nowMs } = turn
  const { operation, owner, node, revision, disbelieve } = ask
  const untilMs = nowMs + RELEASED_MS
  const kept: KeptAnswer = { node, revision, disbelieve, answer, after: resource.successes, untilMs }
  const name = { operation, owner, hold: LOST_PLACE }
  memoriesToWrite(resource, 'released').set(name, { node, fence: 0, reply: refused('unknown-grant'), kept, untilMs })
}

/** What this ask was told, where it is to be told so again. With the shared hold id that is once, or for a moment. */
export function keptAnswer(turn: Turn, ask: AskKey & Said & ClassicOrNot): Answer | undefined {
  const { answers } = turn.resource
  if (answers.size === 0) return undefined
  for (const kept of answers.of(ask)) {
    if (!isOf(turn, kept, ask)) continue
    const isGiven = isGivenAgain(turn, kept, ask)
    if (isGiven && ask.classic && kept.answer.status === 'skip') repeatForAMoment(turn, ask, kept)
    else if (!isGiven || ask.hold === SHARED_HOLD) answers.delete(ask, kept)
    if (isGiven) return kept.answer
  }
  return undefined
}

/** The moment begins when it is given for the first time. Memories are set in the order of their ends. */
function repeatForAMoment({ resource, nowMs }: Turn, ask: AskName, kept: KeptAnswer): void {
  if (kept.repeatUntilMs !== undefined) return
  const repeated = { ...kept, repeatUntilMs: nowMs + REPEAT_MS, untilMs: nowMs + ANSWER_MS }
  memoriesToWrite(resource, 'answers').set(ask, repeated)
}

/** The answer with this fence has been heard: it is not given again, unless that has begun. */
export function forgetAnswer(turn: Turn, ask: AskKey, fence: number): void {
  const { answers } = turn.resource
  for (const kept of answers.of(ask)) {
    const isHeard = 'fence' in kept.answer && kept.answer.fence === fence && kept.repeatUntilMs === undefined
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
  const ended = recall(turn, released, ask)
  const kept = recall(turn, answers, ask) ?? ended?.kept ?? lostPlace(turn, ask, ended)
  if (!kept || endOf(kept) <= turn.nowMs) return undefined
  return isUntrue(turn, ask.operation, kept) || isUnsure(turn, ask.operation, kept) ? undefined : kept.answer
}

/** That its place was lost, unless it has held a grant since. */
function lostPlace(turn: Turn, ask: AskKey, ended: EndedAsk | undefined): KeptAnswer | undefined {
  if (ask.hold !== SHARED_HOLD) return undefined
  const lost = recall(turn, turn.resource.released, { ...ask, hold: LOST_PLACE })
  return lost && lost.untilMs > (ended?.untilMs ?? 0) ? lost.kept : undefined
}

function endOf({ repeatUntilMs = Infinity, untilMs }: KeptAnswer): number {
  return Math.min(repeatUntilMs, untilMs)
}

function isGivenAgain(turn: Turn, kept: KeptAnswer, ask: AskKey & Said): boolean {
  if ((kept.repeatUntilMs ?? Infinity) <= turn.nowMs) return false
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
