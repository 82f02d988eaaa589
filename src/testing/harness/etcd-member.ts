import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { sleep } from './link.ts'

/** What clients are spoken to with TLS by: paths of files. */
export interface EtcdTls {
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** Clients have to show a certificate of that authority. */
  readonly isClientCertRequired?: boolean
}

interface MemberOptions {
  readonly name: string
  readonly folder: string
  readonly tls?: EtcdTls | undefined
}

const START_MS = 60_000
const START_TRIES = 5
const LOOK_MS = 20
const CALL_MS = 1_000
const COMPLAINT_CHARS = 4_000

/** One member of an etcd cluster: a process with a folder and ports of its own. */
export class EtcdMember {
  readonly name: string
  /** All that it says. */
  readonly log: string
  readonly #data: string
  readonly #tls: EtcdTls | undefined
  #flags: readonly string[] = []
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()
  #ports = { client: 0, peer: 0, admin: 0 }

  constructor({ name, folder, tls }: MemberOptions) {
    this.name = name
    this.log = join(folder, `${name}.log`)
    this.#data = join(folder, name)
    this.#tls = tls
  }

  /** Of the present process: a restart changes it. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Where it listens for its peers. */
  get port(): number {
    return this.#ports.peer
  }

  /** Where it listens for clients. */
  get clientPort(): number {
    return this.#ports.client
  }

  /** As it is before its first start: without data, with ports that are free. */
  async clear(): Promise<void> {
    await this.kill()
    rmSync(this.#data, { recursive: true, force: true })
    mkdirSync(this.#data, { recursive: true, mode: 0o700 })
    this.#ports = { client: await freePort(), peer: await freePort(), admin: await freePort() }
  }

  /** Its first start. It may end at once, where one of its ports was taken meanwhile. */
  begin(flags: readonly string[]): void {
    this.#flags = [...this.#ownFlags(), ...flags]
    this.#spawn()
  }

  /** With SIGKILL: as a crash would end it. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#ended
  }

  /**
   * On the same data and the same ports, ended before where it runs. Resolves when it takes part again, which takes a quorum:
   * where that is gone, start as many together.
   */
  async restart(): Promise<void> {
    for (let tries = 0; tries < START_TRIES; tries++) {
      await this.kill()
      this.#spawn()
      if (await this.isReady()) return
    }
    throw new Error(`${this.name} did not start: ${this.complaint()}`)
  }

  /** Stops it in its tracks. Its threads do so one after another: this waits for all of them. */
  async pause(): Promise<void> {
    this.#child?.kill('SIGSTOP')
    const isStopped = () => /^State:\tT/m.test(readFileSync(`/proc/${this.pid}/status`, 'utf8'))
    for (let looks = 0; this.pid !== undefined && !isStopped() && looks < 500; looks++) await sleep(2)
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Resolves when a linearizable read works by it; with false where it has ended instead, or it takes too long. */
  async isReady(): Promise<boolean> {
    const endMs = Date.now() + START_MS
    while (this.#child && Date.now() < endMs) {
      const health = await this.#fetch('/health').catch(() => undefined)
      if (health?.ok && this.#child) return true
      await sleep(LOOK_MS)
    }
    return false
  }

  /** One request to its HTTP gateway, e.g. `/v3/kv/range`; bytes are in base64 there, and numbers of 64 bits are text. */
  async call<Answer>(path: string, request: object = {}): Promise<Answer> {
    const response = await this.#fetch(path, { method: 'POST', body: JSON.stringify(request) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${this.name} answered ${path} with ${response.status}: ${text}`)
    return JSON.parse(text) as Answer
  }

  /** The last of what it has said. */
  complaint(): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').slice(-COMPLAINT_CHARS) : ''
  }

  #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const signal = AbortSignal.timeout(CALL_MS)
    return fetch(`http://127.0.0.1:${this.#ports.admin}${path}`, { ...init, signal })
  }

  #ownFlags(): string[] {
    const { client, peer, admin } = this.#ports
    const url = `${this.#tls ? 'https' : 'http'}://127.0.0.1:${client}`
    const flags = [`--name=${this.name}`, `--data-dir=${this.#data}`, '--logger=zap']
    // The harness has a way of its own in, without TLS.
    flags.push(`--listen-client-urls=${url},http://127.0.0.1:${admin}`, `--advertise-client-urls=${url}`)
    flags.push(`--listen-peer-urls=http://127.0.0.1:${peer}`)
    if (!this.#tls) return flags
    const { ca, cert, key, isClientCertRequired = false } = this.#tls
    const isRequired = `--client-cert-auth=${isClientCertRequired}`
    return [...flags, `--trusted-ca-file=${ca}`, `--cert-file=${cert}`, `--key-file=${key}`, isRequired]
  }

  #spawn(): void {
    // It goes down with whoever started it, however that ends.
    const tied = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : []
    const [program, ...args] = [...tied, 'etcd', ...this.#flags]
    const log = openSync(this.log, 'a')
    const child = spawn(program!, args, { stdio: ['ignore', log, log], env: cleanEnvironment() })
    closeSync(log)
    this.#child = child
    this.#ended = once(child, 'exit')
      .catch((error) => appendFileSync(this.log, `${error}\n`))
      .then(() => {
        this.#child = undefined
      })
  }
}

/** Every flag of etcd can be said by the environment too. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('ETCD')))
}
