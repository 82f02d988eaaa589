import { argumentsOf } from '../arguments.ts'
import { killRestart } from './kill-restart.ts'

const USAGE = `
Kills a server under load, again and again, and checks what it had acknowledged. Prints a line of JSON at the end; exits with 1 if
anything is lost.

npm run kill-restart -- --kills 200      kills the server so often
npm run kill-restart -- --seconds 600    for so long

--clients 8    so many callers
--seed 7       makes the same calls again, and kills at the same moments
`

const { values } = argumentsOf(USAGE, {
  options: {
    kills: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: '100000' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

const seed = Number(values.seed)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const { counts, failures } = await killRestart({
  seed,
  kills: Number(values.kills),
  lengthMs: Number(values.seconds) * 1_000,
  clients: Number(values.clients),
  onFailure: (what) => process.stderr.write(`FAILED: ${what}\n`),
})
process.stdout.write(`${JSON.stringify({ seed, ...counts, failures: failures.length })}\n`)
process.exit(failures.length === 0 ? 0 : 1)
