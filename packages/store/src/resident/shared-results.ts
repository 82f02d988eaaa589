import type { EndedAsk, Json, KeptAnswer } from '@baton-lock/core'

/**
 * All waiters of a success get the same result. The text of a resource has it once, in a list, and answers have its index.
 * Otherwise a large result and a long queue would exceed the longest string.
 */
export class SharedResults {
  readonly list: Json[]
  /** By the fence of the success. */
  readonly #places = new Map<number, number>()

  constructor(list: readonly Json[] = []) {
    this.list = [...list]
  }

  /** For the text: the result is replaced by its index. */
  taken(kept: KeptAnswer): KeptAnswer {
    const { answer } = kept
    if (answer.status !== 'skip' || !isWorthIt(answer.result)) return kept
    const { result, ...without } = answer
    return { ...kept, answer: { ...without, resultAt: this.#placeOf(answer.fence, result) } as Written }
  }

  /** From the text: the index is replaced by the result. */
  given(kept: KeptAnswer): KeptAnswer {
    const { resultAt, ...answer } = kept.answer as Written
    return resultAt === undefined ? kept : { ...kept, answer: { ...answer, result: this.list[resultAt]! } }
  }

  #placeOf(fence: number, result: Json): number {
    const place = this.#places.get(fence) ?? this.list.push(result) - 1
    this.#places.set(fence, place)
    return place
  }
}

type Written = Extract<KeptAnswer['answer'], { status: 'skip' }> & { readonly resultAt?: number }

function isWorthIt(result: Json | undefined): result is Json {
  return typeof result === 'string' || (typeof result === 'object' && result !== null)
}

export function mapKept(ended: EndedAsk, change: (kept: KeptAnswer) => KeptAnswer): EndedAsk {
  return ended.kept ? { ...ended, kept: change(ended.kept) } : ended
}
