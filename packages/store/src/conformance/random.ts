/** Randomness that a seed repeats. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number
  chance(probability: number): boolean
  /** From 0 up to, not including, `below`. */
  integer(below: number): number
  pick<Item>(items: readonly Item[]): Item
}

/** mulberry32: 32 bits of state, good enough to choose test cases by. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    chance: (probability) => next() < probability,
    integer: (below) => Math.floor(next() * below),
    pick: (items) => items[Math.floor(next() * items.length)]!,
  }
}
