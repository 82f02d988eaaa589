import type { EndedAsk, KeptAnswer } from '@baton-lock/core'
import type { Address } from '@baton-lock/store/store'
import type { Keys } from '../keys.ts'

/** A memory as it is stored: an answer that is worth it stands apart, once for all who were told the same. */
export interface WrittenMemory {
  readonly value: KeptAnswer | EndedAsk
  /** The key of the answer. */
  readonly answer?: string
}

/** Beyond so many characters: to name it takes about a hundred. */
const LARGE = 300

/** What has to be put for a memory: its text, and the answer where that stands apart. */
export function memoryPuts(keys: Keys, address: Address, value: KeptAnswer | EndedAsk): MemoryPuts {
  const kept = 'answer' in value ? value : value.kept
  const answer = kept && JSON.stringify(kept.answer)
  if (!kept || answer!.length <= LARGE) return { text: JSON.stringify({ value }), answer: undefined }
  const key = keys.answer(address, answer!)
  const { answer: _, ...others } = kept
  const short = 'answer' in value ? others : { ...value, kept: others }
  return { text: JSON.stringify({ value: short, answer: key }), answer: { key, value: answer! } }
}

interface MemoryPuts {
  readonly text: string
  readonly answer: { readonly key: string; readonly value: string } | undefined
}

export function answerOf({ answer }: WrittenMemory): string | undefined {
  return answer
}
