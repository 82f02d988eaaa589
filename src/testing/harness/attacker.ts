import { fileURLToPath } from 'node:url'
import type { Inflictions } from './inflictions.ts'
import type { Processes } from './processes.ts'

const ATTACKER = fileURLToPath(new URL('../attacks/attacker-process.js', import.meta.url))
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
    const attacker = processes.start([ATTACKER, name, url(), '{}'])
    const { stdin, stdout } = attacker.child
    stdout!.setEncoding('utf8').on('data', (said: string) => {
      if (said.includes('"prepared"')) stdin!.write('run\n')
      if (said.includes('"failed"')) inflictions.failures.push(`the attack ${name}: ${said.trim()}`)
    })
    stdin!.write('prepare\n')
    await inflictions.later(ATTACK_MS, () => attacker.signal('SIGKILL'))
    await attacker.ended
  }
}
