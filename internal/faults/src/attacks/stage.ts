import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServe, urlOf } from '@baton-lock/test-support/baton-server'
import { Dialog } from '@baton-lock/test-support/dialog'
import { Processes, type Started } from '@baton-lock/test-support/processes'
import { PROGRAMS } from '../programs.ts'
import type { Attack, Role } from './attack.ts'

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
  #victim: Dialog | undefined
  #attacker: Dialog | undefined
  #url = ''

  constructor(attack: Attack) {
    this.#attack = attack
  }

  async open(): Promise<void> {
    const roles: Record<Role, string> = { node: secret(), observe: secret(), admin: secret() }
    const victim = secret()
    const file = join(this.#folder, 'tokens.toml')
    writeFileSync(file, tokensText({ ...roles, victim }), { mode: 0o600 })
    const flags = this.#attack.isOpen ? [] : ['--tokens', file]
    const command = [process.execPath, `--max-old-space-size=${HEAP_MB}`, PROGRAMS.baton]
    this.#server = startServe(command, ['--store', 'memory:', ...flags], { processes })
    this.#url = await urlOf(this.#server)
    this.#victim = new Dialog(processes, [PROGRAMS.victim, this.#url, this.#attack.isOpen ? '' : victim])
    this.#attacker = new Dialog(processes, [PROGRAMS.attacker, this.#attack.name, this.#url, JSON.stringify(roles)])
    await Promise.all([this.#victim.hear(says('ready')), this.#attacker.hear(says('ready'))])
  }

  async measure(lengthMs: number): Promise<Measured> {
    this.#victim!.say(`measure ${lengthMs}`)
    return this.#victim!.hear(says('cycles'), lengthMs + ANSWER_MS)
  }

  async prepare(): Promise<void> {
    this.#attacker!.say('prepare')
    await this.#attacker!.hear(says('prepared'))
  }

  attack(): void {
    this.#attacker!.say('run')
  }

  /** What the attacker has seen and should not have. */
  async stop(): Promise<readonly string[]> {
    this.#attacker!.say('stop')
    return (await this.#attacker!.hear(says('seen'))).seen
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

  close(): void {
    processes.killAll()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Whether a line has this. */
function says(name: string): (line: Record<string, unknown>) => boolean {
  return (line) => {
    if (line.failed !== undefined) throw new Error(`the attacker failed: ${line.failed}`)
    return line[name] !== undefined
  }
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
