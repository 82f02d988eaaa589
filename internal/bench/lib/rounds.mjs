import { progress } from './progress.mjs'

/**
 * Measures every subject once per round, each round in the opposite order, so that other work of this machine slows all of them. The
 * first round only warms up. `subjects` are functions; returns the list of their results for each.
 */
export async function inTurn({ what, rounds, subjects }) {
  const names = Object.keys(subjects)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      progress(`${what}: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}, ${name}`)
      const result = await subjects[name]({ isWarmUp: round === 0 })
      if (round > 0) results[name].push(result)
    }
  }
  progress()
  return results
}
