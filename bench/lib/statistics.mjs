const sorted = (numbers) => numbers.toSorted((a, b) => a - b)

/** Of an even count, between the two in the middle: to take one of them would lean to one side. */
export function median(numbers) {
  const inOrder = sorted(numbers)
  const middle = Math.floor(inOrder.length / 2)
  return inOrder.length % 2 === 1 ? inOrder[middle] : (inOrder[middle - 1] + inOrder[middle]) / 2
}

export function quantile(numbers, part) {
  const inOrder = sorted(numbers)
  return inOrder[Math.min(inOrder.length - 1, Math.floor(part * inOrder.length))]
}

/**
 * One row of the table. `mine` is one figure a round, `theirs` the same of each it is compared with: compared round by round, so that
 * what else the machine did falls on both, and with the best of them. `wanted` is `{ least, aim }` or `{ most, aim }`.
 */
export function compared({ what, unit, mine, theirs, isLessBetter = false, wanted }) {
  const names = Object.keys(theirs)
  const best = isLessBetter ? Math.min : Math.max
  const ratios = mine.map((figure, round) => figure / best(...names.map((name) => theirs[name][round])))
  const figures = { baton: median(mine), ...Object.fromEntries(names.map((name) => [name, median(theirs[name])])) }
  return { what, unit, figures, ...judged(ratios, wanted), kind: 'ratio', rounds: { baton: mine, ...theirs } }
}

/** A row that compares with nothing but what is wanted. */
export function absolute({ what, unit, mine, wanted, figures = {} }) {
  return {
    what,
    unit,
    figures: { baton: median(mine), ...figures },
    ...judged(mine, wanted),
    kind: 'figure',
    rounds: { baton: mine },
  }
}

/** A row that could not be measured here, by name. */
export const leftOut = ({ what, why }) => ({ what, kind: 'left out', why })

function judged(values, wanted = {}) {
  const value = median(values)
  const isMet =
    (wanted.least === undefined || value >= wanted.least) && (wanted.most === undefined || value <= wanted.most)
  return { value, spread: [Math.min(...values), Math.max(...values)], wanted, isMet }
}
