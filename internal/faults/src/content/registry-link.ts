import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { carryBody } from './blob-body.ts'
import { BlobFaults } from './blob-faults.ts'
import { type BlobGets, tally } from './blob-gets.ts'

/** One GET of a blob that the registry has answered with 200 or 206. */
interface BlobGet {
  readonly node: string
  readonly digest: string
  readonly status: number
  /** Where in the blob the answer begins: 0 unless a Range was asked for. */
  readonly startByte: number
  /** Of the body, sent so far. */
  bytes: number
}

const BLOB_PATH = /^\/v2\/.+\/blobs\/(sha256:[0-9a-f]{64})$/

/**
 * The way of some nodes to one registry: a reverse proxy that counts who fetches which blob, and breaks as networks and
 * registries do. Each node has a door of its own, and counts and faults are of all of them together. A GET is counted
 * before the first byte of its answer is passed on, so that the counts are exact as soon as a client is done.
 */
export class RegistryLink {
  readonly faults = new BlobFaults()
  readonly #host: string
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true })
  readonly #doors = new Set<Server>()
  #gets: BlobGet[] = []

  /** `registry` is its address: `127.0.0.1:PORT`. */
  constructor({ registry }: { readonly registry: string }) {
    const { hostname, port } = new URL(`http://${registry}`)
    this.#host = hostname
    this.#port = Number(port)
  }

  /** Resolves with the address that is this node's registry from now on. */
  async open(node: string): Promise<string> {
    const door = createServer((client, answer) => this.#forward(node, client, answer))
    this.#doors.add(door)
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(door.address() as AddressInfo).port}`
  }

  /** Since the start or the last reset, in their order. */
  get gets(): readonly Readonly<BlobGet>[] {
    return this.#gets
  }

  /** The same by digest; those of one node, where it is named. */
  blobGets({ node }: { readonly node?: string } = {}): BlobGets {
    return tally(this.#gets.filter((get) => (node ?? get.node) === get.node))
  }

  resetGets(): void {
    this.#gets = []
  }

  /** Leaves no connection open. */
  async close(): Promise<void> {
    this.faults.heal()
    const closing = [...this.#doors].map((door) => new Promise((resolve) => door.close(resolve)))
    for (const door of this.#doors) door.closeAllConnections()
    this.#agent.destroy()
    await Promise.all(closing)
  }

  #forward(node: string, client: IncomingMessage, answer: ServerResponse): void {
    const { method, url: path, headers } = client
    // The host stays as the client said it: the registry makes the addresses for uploads of it.
    const target = { host: this.#host, port: this.#port, agent: this.#agent }
    const onward = request({ ...target, method, path, headers }, (reply) => {
      answer.writeHead(reply.statusCode!, reply.statusMessage, reply.rawHeaders)
      this.#carry({ node, client, reply, answer }).catch(() => answer.destroy())
    })
    onward.on('error', () => answer.destroy())
    answer.on('error', () => {}).on('close', () => onward.destroy())
    client.on('error', () => onward.destroy()).pipe(onward)
  }

  async #carry({ node, client, reply, answer }: Exchange): Promise<void> {
    const digest = BLOB_PATH.exec(new URL(client.url!, 'http://registry').pathname)?.[1]
    const status = reply.statusCode!
    if (digest === undefined || client.method !== 'GET' || (status !== 200 && status !== 206)) {
      await pipeline(reply, answer)
      return
    }
    const startByte = status === 206 ? Number(/^bytes (\d+)-/.exec(reply.headers['content-range'] ?? '')?.[1]) : 0
    const get: BlobGet = { node, digest, status, startByte, bytes: 0 }
    this.#gets.push(get)
    const met = this.faults.meeting(get)
    const onSent = (bytes: number) => {
      get.bytes += bytes
    }
    // A body may be held before its first byte, and the client is to know that it was answered.
    answer.flushHeaders()
    await carryBody({ from: reply, to: answer, node, met, faults: this.faults, startByte, onSent })
  }
}

interface Exchange {
  readonly node: string
  readonly client: IncomingMessage
  readonly reply: IncomingMessage
  readonly answer: ServerResponse
}
