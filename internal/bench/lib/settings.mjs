// The flags of benchmarks: `npm run bench -- NAME --rounds 9 --seconds 2 --node 22,24`.
import { parseArgs } from 'node:util'

const options = {
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  minutes: { type: 'string' },
  locks: { type: 'string' },
  waiters: { type: 'string' },
  node: { type: 'string' },
  before: { type: 'string' },
  parts: { type: 'string' },
  out: { type: 'string' },
}

/** Flags that were not given are absent: every benchmark has its own defaults. */
export function settingsOf(args) {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const { BENCH_ROUNDS, BENCH_SECONDS } = process.env
  const said = { rounds: BENCH_ROUNDS, seconds: BENCH_SECONDS, ...values }
  const settings = {}
  for (const [name, value] of Object.entries(said)) {
    if (value === undefined) continue
    const isNumber = ['rounds', 'seconds', 'minutes', 'locks', 'waiters'].includes(name)
    settings[name] = isNumber ? Number(value) : value
    if (isNumber && !(settings[name] > 0)) throw new TypeError(`--${name} ${value}: a number above 0`)
  }
  return { name: positionals[0], settings }
}
