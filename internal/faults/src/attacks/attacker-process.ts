import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import type { Role } from './attack.ts'
import { attacks } from './attacks.ts'

/*
 * The attacker, in a process of its own: `prepare`, then `run`, then `stop`, each a line on stdin. An attacker has a machine of
 * its own; here it shares the cores with the server and the victim, so it comes last: what is measured is what the server lets
 * it do, not what the scheduler does.
 */
setPriority(constants.priority.PRIORITY_LOW)
const [name, url = '', tokens = '{}'] = process.argv.slice(2)
const attack = attacks.find((each) => each.name === name)
if (!attack) throw new Error(`there is no attack called ${name}`)
const over = new AbortController()
const target = {
  url,
  port: Number(new URL(url).port),
  tokens: JSON.parse(tokens) as Record<Role, string>,
  signal: over.signal,
}
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const steps: Record<string, () => Promise<void>> = {
  prepare: async () => {
    await attack.prepare?.(target)
    say({ prepared: true })
  },
  run: async () => {
    say({ seen: (await attack.run(target)) ?? [] })
  },
  stop: async () => over.abort(),
}
// What it meets on its way is its own business.
process.on('uncaughtException', () => {})
process.on('unhandledRejection', () => {})
const input = createInterface({ input: process.stdin })
input.on('line', (line) => void steps[line]?.().catch((error) => say({ failed: String(error) })))
input.on('close', () => process.exit(0))
say({ ready: true })
