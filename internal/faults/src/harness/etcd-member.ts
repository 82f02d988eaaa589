import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Started, startProcess } from '@baton-lock/test-support/processes'
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

/** One member of an etcd cluster: a process with a folder and ports of its own. */
export class EtcdMember {
  readonly name: string
  /** All that it says. */
  readonly log: string
  readonly #data: string
  readonly #tls: EtcdTls | undefined
  #flags: readonly string[] = []
  #started: Started | undefined
  #ports = { client: 0, peer: 0, admin: 0 }

  constructor({ name, folder, tls }: MemberOptions) {
    this.name = name
    this.log = join(folder, `${name}.log`)
    this.#data = join(folder, name)
    this.#tls = tls
  }

  /** Of the present process: a restart changes it. */
  get pid(): number | undefined {
    return this.#started?.isRunning ? this.#started.pid : undefined
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
    await this.#started?.end()
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

  async pause(): Promise<void> {
    await this.#started?.pause()
  }

  resume(): void {
    this.#started?.resume()
  }

  /** Resolves when a linearizable read works by it; with false where it has ended instead, or it takes too long. */
  async isReady(): Promise<boolean> {
    const endMs = Date.now() + START_MS
    while (this.#started?.isRunning && Date.now() < endMs) {
      const health = await this.#fetch('/health').catch(() => undefined)
      if (health?.ok && this.#started.isRunning) return true
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
    return this.#started?.complaint() ?? ''
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
    this.#started = startProcess('etcd', this.#flags, { log: this.log })
  }
}
