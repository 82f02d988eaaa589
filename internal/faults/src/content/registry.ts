import { readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atExit } from '@baton-lock/test-support/at-exit'
import { type Started, startProcess } from '@baton-lock/test-support/processes'
import { sleep } from '../harness/link.ts'
import { type BlobGets, tally } from './blob-gets.ts'
import type { Image } from './image.ts'

interface RegistryOptions {
  /** Its own, which is removed when it stops. */
  readonly folder: string
}

const START_MS = 10_000
const LOGGED_MS = 5_000
const LOOK_MS = 10

/** A registry that is thrown away: on a port of the loopback, in a folder of its own. */
export async function startRegistry({ folder }: RegistryOptions): Promise<Registry> {
  await mkdir(folder, { recursive: true })
  const config = join(folder, 'config.yml')
  const log = join(folder, 'log')
  await writeFile(config, configOf(join(folder, 'blobs')))
  const started = startProcess('docker-registry', ['serve', config], { log })
  const [, address] = await started.says(/listening on (127\.0\.0\.1:\d+)\D/, START_MS)
  return new Registry({ folder, address: address!, log, started })
}

interface RegistryParts extends RegistryOptions {
  readonly address: string
  readonly log: string
  readonly started: Started
}

export class Registry {
  /** `127.0.0.1:PORT` */
  readonly address: string
  readonly #folder: string
  readonly #log: string
  readonly #started: Started
  readonly #forget: () => void
  #markChars = 0

  constructor({ folder, address, log, started }: RegistryParts) {
    this.address = address
    this.#folder = folder
    this.#log = log
    this.#started = started
    this.#forget = atExit(() => this.#remove())
  }

  async push({ name, tag, blobs, manifest }: Image): Promise<void> {
    for (const { digest, bytes } of blobs) {
      const { headers } = await this.#request('POST', `/v2/${name}/blobs/uploads/`)
      const upload = new URL(headers.get('location')!, `http://${this.address}`)
      upload.searchParams.set('digest', digest)
      await this.#request('PUT', `${upload.pathname}${upload.search}`, bytes, 'application/octet-stream')
    }
    await this.#request('PUT', `/v2/${name}/manifests/${tag}`, manifest.bytes, manifest.mediaType)
  }

  /**
   * The GETs of blobs in its access log, since the start or the last reset. The registry writes a line after the last
   * byte has left, so that a client may be done before its line is there: a RegistryLink counts exactly.
   */
  blobGets(): BlobGets {
    const lines = this.#logged().slice(this.#markChars).matchAll(GET_LINE)
    return tally([...lines].map(([, digest, bytes]) => ({ digest: digest!, bytes: Number(bytes) })))
  }

  /** The same, when there are at least as many lines; as they are, where that takes too long. */
  async loggedGets({ atLeast }: { readonly atLeast: number }): Promise<BlobGets> {
    const endMs = Date.now() + LOGGED_MS
    while (this.blobGets().total < atLeast && Date.now() < endMs) await sleep(LOOK_MS)
    return this.blobGets()
  }

  resetGets(): void {
    this.#markChars = this.#logged().length
  }

  /** Ends it, and leaves nothing. */
  async stop(): Promise<void> {
    await this.#started.end()
    this.#remove()
    this.#forget()
  }

  #remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #logged(): string {
    return readFileSync(this.#log, 'latin1')
  }

  async #request(method: string, path: string, body?: Buffer, type?: string): Promise<Response> {
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
    const init = { method, headers, ...(body && { body: new Uint8Array(body) }) }
    const response = await fetch(`http://${this.address}${path}`, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return response
  }
}

const GET_LINE = /"GET \/v2\/\S+\/blobs\/(sha256:[0-9a-f]{64}) \S+" 20[06] (\d+)/g

/** It picks a free port itself, and says in its log which. */
function configOf(storage: string): string {
  return `version: 0.1
log: { level: info }
storage:
  filesystem: { rootdirectory: ${JSON.stringify(storage)} }
http: { addr: '127.0.0.1:0', secret: none }
`
}
