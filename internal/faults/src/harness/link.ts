import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** How one direction of a link carries bytes at present. */
interface Way {
  isOpen: boolean
  delayMs: number
  isSlow: boolean
  /** After so many bytes the connection that carries them breaks. */
  breaksAfter: number
}

const WHOLE: Way = { isOpen: true, delayMs: 0, isSlow: false, breaksAfter: Infinity }

const PIECE_BYTES = 64
const PIECE_MS = 20

/** Where a link leads to; it may move. */
export interface Target {
  readonly port: number
  readonly host?: string
}

/** One client's way to one server: a TCP proxy that breaks in all the ways that networks do. */
export class Link {
  readonly #target: Target
  readonly #server: Server
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>()
  readonly #there: Way = { ...WHOLE }
  readonly #back: Way = { ...WHOLE }
  #waiting: (() => void)[] = []
  #isRefusing = false

  constructor(target: Target) {
    this.#target = target
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.accept(client))
  }

  /** Resolves with the port that leads to the target. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  /** Carries one connection, as one that was made to its port. */
  accept(client: Socket): void {
    if (this.#isRefusing) {
      client.on('error', () => {}).resetAndDestroy()
      return
    }
    const { port, host = '127.0.0.1' } = this.#target
    const server = connect({ port, host, allowHalfOpen: true, noDelay: true })
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const [socket, other] of [pair, [server, client] as const]) {
      socket.on('error', () => other.resetAndDestroy())
      socket.on('close', () => this.#pairs.delete(pair))
    }
    void this.#carry(client, server, this.#there)
    void this.#carry(server, client, this.#back)
  }

  /** Nothing passes; what was sent meanwhile arrives when it is over. Returns how to end it. */
  blackhole(which: 'there' | 'back' | 'both'): () => void {
    const ways = which === 'both' ? [this.#there, this.#back] : [which === 'there' ? this.#there : this.#back]
    for (const way of ways) way.isOpen = false
    return () => {
      for (const way of ways) way.isOpen = true
      this.#wake()
    }
  }

  delay(delayMs: number): () => void {
    this.#there.delayMs = this.#back.delayMs = delayMs
    return () => {
      this.#there.delayMs = this.#back.delayMs = 0
    }
  }

  /** What the server sends is read a few bytes at a time. */
  readSlowly(): () => void {
    this.#back.isSlow = true
    return () => {
      this.#back.isSlow = false
    }
  }

  /** New connections are reset at once. */
  refuse(): () => void {
    this.#isRefusing = true
    return () => {
      this.#isRefusing = false
    }
  }

  reset(): void {
    for (const [client, server] of this.#pairs) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
  }

  /** The connection that carries the byte after these, one way, breaks there: in the middle of a frame, for the most part. */
  breakAfter(bytes: number, which: 'there' | 'back'): () => void {
    const way = which === 'there' ? this.#there : this.#back
    way.breaksAfter = bytes
    return () => {
      way.breaksAfter = Infinity
    }
  }

  /** One side hears that the other will send no more, while the other direction stays open. */
  halfClose(whom: 'client' | 'server'): void {
    for (const [client, server] of this.#pairs) (whom === 'client' ? client : server).end()
  }

  /** Everything passes again. */
  heal(): void {
    for (const way of [this.#there, this.#back]) Object.assign(way, WHOLE)
    this.#isRefusing = false
    this.#wake()
  }

  close(): void {
    this.#server.close()
    this.heal()
    for (const sockets of this.#pairs) for (const socket of sockets) socket.destroy()
  }

  async #carry(from: Socket, to: Socket, way: Way): Promise<void> {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) {
        await this.#opening(way)
        if (way.delayMs > 0) await sleep(way.delayMs)
        for (const piece of way.isSlow ? piecesOf(chunk) : [chunk]) {
          if (way.isSlow) await sleep(PIECE_MS)
          if (piece.length > way.breaksAfter) return breakOff(from, to, piece.subarray(0, way.breaksAfter), way)
          way.breaksAfter -= piece.length
          await sent(to, piece)
        }
      }
      await this.#opening(way)
      to.end()
    } catch {
      from.destroy()
      to.destroy()
    }
  }

  async #opening(way: Way): Promise<void> {
    while (!way.isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** The first bytes arrive, and then nothing; who sent them is told that nobody is there. */
function breakOff(from: Socket, to: Socket, first: Buffer, way: Way): void {
  way.breaksAfter = Infinity
  to.end(first)
  to.destroySoon()
  from.resetAndDestroy()
}

/** Resolves when it has left: a reader that does not read holds its writer up. */
function sent(to: Socket, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => to.write(piece, (error) => (error ? reject(error) : resolve())))
}

/** The same URL, by the links that listen on these ports: one for each of its hosts. */
export function byLinks(url: string, ports: readonly number[]): string {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
  return url.replace(/(?<=^\w+:\/\/([^/@]*@)?)[^/@]+(?=\/|$)/, hosts)
}

function piecesOf(chunk: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) pieces.push(chunk.subarray(at, at + PIECE_BYTES))
  return pieces
}

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}
