import type { Processes } from '@baton-lock/test-support/processes'
import { PROGRAMS } from '../programs.ts'
import type { Inflictions } from './inflictions.ts'

/** Of those in `testing/attacks`, the ones that add little to the history that is checked afterwards. */
const WAYS = [
  'pipelined-openapi',
  'deep-json',
  'many-fields',
  'large-bodies',
  'deaf-web-sockets',
  'pings',
  'endless-message',
  'broken-frames',
  'connections-come-and-go',
  'half-requests',
]
const ATTACK_MS = 8_000
const REST_MS = 500

interface AttackerOptions {
  readonly processes: Processes
  readonly inflictions: Inflictions
  /** Of the server that is attacked. */
  readonly url: () => string
}

/** Attacks a server while others use it, one way after another, each from a process of its own. */
export class Attacker {
  readonly #options: AttackerOptions
  #next = 0

  constructor(options: AttackerOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.inflictions.repeat(
      () => REST_MS,
      () => this.#attack(WAYS[this.#next++ % WAYS.length]!),
    )
  }

  async #attack(name: string): Promise<void> {
    const { processes, inflictions, url } = this.#options
    inflictions.count(`attacked by ${name}`)
    const onLine = (line: string) => {
      if (line.includes('"prepared"')) attacker.write('run\n')
      if (line.includes('"failed"')) inflictions.failures.push(`the attack ${name}: ${line}`)
    }
    const args = [PROGRAMS.attacker, name, url(), '{}']
    const attacker = processes.start(process.execPath, args, { stdin: 'pipe', onLine })
    attacker.write('prepare\n')
    await inflictions.later(ATTACK_MS, () => attacker.kill('SIGKILL'))
    await attacker.exited
  }
}
