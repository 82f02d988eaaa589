import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { Link, type Target } from './link.ts'

/** Where a member listens for its peers, and who it is at present. */
interface Peer extends Target {
  readonly pid: number | undefined
}

/** One member that is cut off from the others. */
interface Isolation {
  readonly index: number
}

/** The network between the members of an etcd cluster: a link for every pair and direction of dialling. */
export class EtcdNetwork {
  readonly #peers: readonly Peer[]
  readonly #links: readonly (readonly Link[])[]
  readonly #gates: readonly Server[]
  readonly #isolations = new Set<Isolation>()
  /** The links that have been asked for once. */
  readonly #known = new Set<Link>()

  constructor(peers: readonly Peer[]) {
    this.#peers = peers
    this.#links = peers.map(() => peers.map((to) => new Link(to)))
    this.#gates = peers.map((_, to) =>
      createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#dialled(to, socket)),
    )
  }

  /** Resolves with the ports by which the members reach each other, in their order. */
  listen(): Promise<number[]> {
    return Promise.all(this.#gates.map(listening))
  }

  /** Nothing passes between this member and the others. Returns how to heal it: what was sent meanwhile arrives then. */
  isolate(index: number): () => void {
    const isolation: Isolation = { index }
    this.#isolations.add(isolation)
    this.#apply()
    return () => {
      this.#isolations.delete(isolation)
      this.#apply()
    }
  }

  close(): void {
    for (const gate of this.#gates) gate.close()
    for (const link of this.#links.flat()) link.close()
  }

  #apply(): void {
    const cut = new Set([...this.#isolations].map(({ index }) => index))
    for (const [from, links] of this.#links.entries())
      for (const [to, link] of links.entries()) {
        if (cut.has(from) || cut.has(to)) link.blackhole('both')
        else link.heal()
      }
  }

  #dialled(to: number, socket: Socket): void {
    const from = this.#peers.findIndex(({ pid }) => pid !== undefined && isOwner(pid, socket))
    const link = this.#links[from]?.[to]
    // Its owner may have ended meanwhile. And a member without data asks each of the others at first whether they have begun
    // already, and waits a second for an answer that nobody gives who is just beginning too: refused, it goes on at once.
    if (link && this.#known.has(link)) link.accept(socket)
    else socket.on('error', () => {}).resetAndDestroy()
    if (link) this.#known.add(link)
  }
}

/** Whether the other end of a connection on the loopback belongs to that process, by what Linux says of its sockets. */
function isOwner(pid: number, { remotePort, localPort }: Socket): boolean {
  const hex = (port = 0) => port.toString(16).toUpperCase().padStart(4, '0')
  const ends = new RegExp(`^ *\\d+: 0100007F:${hex(remotePort)} 0100007F:${hex(localPort)} (?:\\S+ +){6}(\\d+)`, 'm')
  try {
    const inode = ends.exec(readFileSync(`/proc/${pid}/net/tcp`, 'utf8'))?.[1]
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).some((fd) => targetOf(`${folder}/${fd}`) === `socket:[${inode}]`)
  } catch {
    return false
  }
}

/** Nothing where it has been closed meanwhile. */
function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
