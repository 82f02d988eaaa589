const sorted = (numbers) => numbers.toSorted((a, b) => a - b)

/** The middle one; for an even count, the mean of the two in the middle. */
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
 * A row of the table. `mine` has a figure for each round, `theirs` the same for each subject of the comparison. In each round, `mine` is
 * compared with the best of `theirs`, as other work of the machine slows both. `wanted` is `{ least, aim }` or `{ most, aim }`.
 */
export function compared({ what, unit, mine, theirs, isLessBetter = false, wanted }) {
  const names = Object.keys(theirs)
  const best = isLessBetter ? Math.min : Math.max
  const ratios = mine.map((figure, round) => figure / best(...names.map((name) => theirs[name][round])))
  const figures = { baton: median(mine), ...Object.fromEntries(names.map((name) => [name, median(theirs[name])])) }
  return { what, unit, figures, ...judged(ratios, wanted), kind: 'ratio', rounds: { baton: mine, ...theirs } }
}

/** A row without a comparison. */
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

/** A row that could not be measured on this machine. */
export const leftOut = ({ what, why }) => ({ what, kind: 'left out', why })

function judged(values, wanted = {}) {
  const value = median(values)
  const isMet =
    (wanted.least === undefined || value >= wanted.least) && (wanted.most === undefined || value <= wanted.most)
  return { value, spread: [Math.min(...values), Math.max(...values)], wanted, isMet }
}
