import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Processes, type Started } from '../harness/processes.ts'
import type { Attack, Role } from './attack.ts'

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url))
const VICTIM = fileURLToPath(new URL('victim-process.js', import.meta.url))
const ATTACKER = fileURLToPath(new URL('attacker-process.js', import.meta.url))
/** Less than what it may take in all: what is beside the heap counts too. */
const HEAP_MB = 512
const ANSWER_MS = 60_000

/** What the victim says of a while. */
export interface Measured {
  /** How long each took, in milliseconds. */
  readonly cycles: readonly number[]
  readonly handOvers: readonly number[]
  readonly wrong: readonly string[]
}

const processes = new Processes()

/** A server, a victim, and an attacker: each in a process of its own. */
export class Stage {
  readonly #folder = mkdtempSync(join(tmpdir(), 'baton-attack-'))
  readonly #attack: Attack
  #server: Started | undefined
  #victim: Lines | undefined
  #attacker: Lines | undefined
  #url = ''

  constructor(attack: Attack) {
    this.#attack = attack
  }

  async open(): Promise<void> {
    const tokens = { node: secret(), observe: secret(), admin: secret(), victim: secret() }
    const file = join(this.#folder, 'tokens.toml')
    writeFileSync(file, tokensText(tokens), { mode: 0o600 })
    const flags = this.#attack.isOpen ? [] : ['--tokens', file]
    const args = [`--max-old-space-size=${HEAP_MB}`, MAIN, 'serve', '--port', '0', '--store', 'memory:', ...flags]
    this.#server = processes.start(args)
    this.#url = await urlOf(this.#server)
    const own: Record<Role, string> = tokens
    this.#victim = new Lines(processes.start([VICTIM, this.#url, this.#attack.isOpen ? '' : tokens.victim]))
    this.#attacker = new Lines(
      processes.start([
        ATTACKER,
        this.#attack.name,
        this.#url,
        JSON.stringify({ node: own.node, observe: own.observe, admin: own.admin }),
      ]),
    )
    await Promise.all([this.#victim.hear('ready'), this.#attacker.hear('ready')])
  }

  async measure(lengthMs: number): Promise<Measured> {
    this.#victim!.say(`measure ${lengthMs}`)
    return (await this.#victim!.hear('cycles', lengthMs + ANSWER_MS)) as unknown as Measured
  }

  async prepare(): Promise<void> {
    this.#attacker!.say('prepare')
    await this.#attacker!.hear('prepared')
  }

  attack(): void {
    this.#attacker!.say('run')
  }

  /** What the attacker has seen and should not have. */
  async stop(): Promise<readonly string[]> {
    this.#attacker!.say('stop')
    const { seen } = await this.#attacker!.hear('seen')
    return seen as string[]
  }

  /** Whether it still answers. */
  async isAlive(): Promise<boolean> {
    const answer = await fetch(`${this.#url}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    return answer?.status === 200
  }

  /** The most memory that the server has had, in bytes. */
  peakBytes(): number {
    const status = this.#server ? textOf(`/proc/${this.#server.pid}/status`) : ''
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024
  }

  complaint(): string {
    return this.#server?.complaint() ?? ''
  }

  close(): void {
    processes.killAll()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** What a process says, a line of JSON each. */
class Lines {
  readonly #started: Started
  readonly #said: Record<string, unknown>[] = []
  #tell = () => {}

  constructor(started: Started) {
    this.#started = started
    createInterface({ input: started.child.stdout! }).on('line', (line) => {
      this.#said.push(JSON.parse(line) as Record<string, unknown>)
      this.#tell()
    })
  }

  say(line: string): void {
    this.#started.child.stdin!.write(`${line}\n`)
  }

  /** The next line that says this. */
  async hear(name: string, withinMs = ANSWER_MS): Promise<Record<string, unknown>> {
    const late = AbortSignal.timeout(withinMs)
    for (;;) {
      const failed = this.#said.find((line) => line.failed !== undefined)
      if (failed) throw new Error(`the attacker failed: ${failed.failed}`)
      const index = this.#said.findIndex((line) => line[name] !== undefined)
      if (index >= 0) return this.#said.splice(index, 1)[0]!
      await new Promise<void>((resolve, reject) => {
        this.#tell = resolve
        late.addEventListener('abort', () => reject(new Error(`nobody said ${name}: ${this.#started.complaint()}`)), {
          once: true,
        })
        void this.#started.ended.then((how) => reject(new Error(`it ended with ${how}: ${this.#started.complaint()}`)))
      })
    }
  }
}

async function urlOf(server: Started): Promise<string> {
  for await (const line of createInterface({ input: server.child.stdout! })) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
    if (url) return url
  }
  throw new Error(`the server did not start: ${server.complaint()}`)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function secret(): string {
  return randomBytes(24).toString('base64url')
}

function tokensText(tokens: Readonly<Record<Role | 'victim', string>>): string {
  const row = (role: string, token: string, more = '') =>
    `[[tokens]]\nrole = "${role}"\nsha256 = "${createHash('sha256').update(token).digest('hex')}"\n${more}`
  return [
    row('node', tokens.node, 'nodes = ["attacker"]\n'),
    row('node', tokens.victim, 'nodes = ["victim"]\n'),
    row('observe', tokens.observe),
    row('admin', tokens.admin),
  ].join('\n')
}
