import { argumentsOf } from '../arguments.ts'
import { attacks } from './attacks.ts'
import { type Attempt, attempt } from './attempt.ts'

const USAGE = `
Attacks a server while a victim measures how long it waits. Exits with 1 if an attack succeeds.

npm run attack                           all attacks, one after another, each against a server of its own
npm run attack -- holds deaf-streams     some of them

--seconds 5     how long the victim is measured under each
`

const { values, positionals } = argumentsOf(USAGE, {
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '5' } },
})

const out = (text: string) => process.stdout.write(`${text}\n`)
const unknown = positionals.filter((name) => !attacks.some((attack) => attack.name === name))
const wanted = attacks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))

async function main(): Promise<number> {
  if (unknown.length > 0) {
    out(`There is no attack called ${unknown.join(', ')}. There are: ${attacks.map(({ name }) => name).join(', ')}.`)
    return 64
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  const seconds = Number(values.seconds)
  const width = Math.max(...wanted.map(({ name }) => name.length))
  out(`${'attack'.padEnd(width)}  idle p99     p99  the most  memory`)
  let succeeded = 0
  for (const [index, attack] of wanted.entries()) {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${index + 1} of ${wanted.length}: ${attack.does}\r`)
    const result = await attempt(attack, { idleMs: 2_000, attackMs: seconds * 1_000 })
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
    out(lineOf(result, width))
    if (result.faults.length + result.delays.length > 0) succeeded++
  }
  out(`${wanted.length} attacks, ${succeeded === 0 ? 'none' : succeeded} with success`)
  return succeeded === 0 ? 0 : 1
}

function lineOf({ name, idleP99, p99, most, peakBytes, ...seen }: Attempt, width: number): string {
  const faults = [...seen.faults, ...seen.delays]
  const ms = (value: number) => `${value.toFixed(1)} ms`
  const columns = [
    ms(idleP99).padStart(8),
    ms(p99).padStart(8),
    ms(most).padStart(9),
    `${Math.round(peakBytes / 1024 ** 2)} MiB`,
  ]
  return [
    name.padEnd(width),
    ...columns,
    ...(faults.length > 0 ? [`SUCCEEDED: ${faults.slice(0, 3).join('; ').slice(0, 300)}`] : []),
  ].join('  ')
}

process.exitCode = await main()
