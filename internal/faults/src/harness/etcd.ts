import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from '@baton-lock/test-support/at-exit'
import { EtcdMember, type EtcdTls } from './etcd-member.ts'
import { EtcdNetwork } from './etcd-network.ts'
import { sleep } from './link.ts'

interface EtcdOptions {
  readonly members?: number
  /** Its own, which is removed when it stops; a new temporary one where none is named. */
  readonly folder?: string
  /** Options of every member, e.g. `--unsafe-no-fsync`, which is quicker and loses what it has promised; the last of a kind counts. */
  readonly options?: readonly string[]
  /** How clients are spoken to; without it, in plain. */
  readonly tls?: EtcdTls
  /** False: the members speak with one another directly, which takes less, and none can be isolated. */
  readonly canIsolate?: boolean
}

interface Status {
  readonly header: { readonly member_id: string; readonly revision: string }
  /** Nothing, or `0`, where it knows of none. */
  readonly leader?: string
  readonly raftTerm: string
}

const START_TRIES = 5
const ANSWER_MS = 60_000
const AGAIN_MS = 50

/** For tests that are neither about what survives nor about members that are cut off: there is less to compute. */
export const WHOLE_ETCD = { canIsolate: false, options: ['--unsafe-no-fsync'] } as const

/** An etcd cluster that is thrown away: on ports of the loopback, in a folder of its own. A linearizable read works by each. */
export async function startEtcd({
  members: count = 3,
  folder,
  options = [],
  tls,
  canIsolate = true,
}: EtcdOptions = {}): Promise<EtcdCluster> {
  const own = folder ?? (await mkdtemp(join(tmpdir(), 'baton-etcd-')))
  await mkdir(own, { recursive: true })
  const members = Array.from({ length: count }, (_, index) => new EtcdMember({ name: `m${index}`, folder: own, tls }))
  const cluster = new EtcdCluster(own, members, canIsolate ? new EtcdNetwork(members) : undefined)
  try {
    await cluster.begin(options)
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

export class EtcdCluster {
  readonly members: readonly EtcdMember[]
  readonly #folder: string
  readonly #network: EtcdNetwork | undefined
  readonly #forget: () => void

  constructor(folder: string, members: readonly EtcdMember[], network: EtcdNetwork | undefined) {
    this.#folder = folder
    this.members = members
    this.#network = network
    this.#forget = atExit(() => this.#remove())
  }

  /** For clients, in the order of the members. */
  get endpoints(): string[] {
    return this.members.map(({ clientPort }) => `127.0.0.1:${clientPort}`)
  }

  url(prefix = ''): string {
    return `etcd://${this.endpoints.join(',')}/${prefix}`
  }

  /** Starts all of the members without data. Once in its life. */
  async begin(options: readonly string[]): Promise<void> {
    const byNetwork = await this.#network?.listen()
    for (let tries = 1; ; tries++) {
      await Promise.all(this.members.map((member) => member.clear()))
      const urls = (byNetwork ?? this.members.map(({ port }) => port)).map((port) => `http://127.0.0.1:${port}`)
      const all = this.members.map(({ name }, index) => `${name}=${urls[index]}`).join(',')
      const common = [`--initial-cluster=${all}`, `--initial-cluster-token=${randomBytes(8).toString('hex')}`]
      for (const [index, member] of this.members.entries())
        member.begin([...common, `--initial-advertise-peer-urls=${urls[index]}`, ...options])
      const areReady = await Promise.all(this.members.map((member) => member.isReady()))
      if (areReady.every(Boolean)) return
      // Somebody else may have taken a port meanwhile.
      const missing = this.members[areReady.indexOf(false)]!
      if (tries === START_TRIES) throw new Error(`etcd did not start: ${missing.complaint()}`)
    }
  }

  /** The index of the present leader, as the members themselves say; waits for one to be elected. */
  leader(): Promise<number> {
    return this.#untilFound('leader', async () => {
      const answers = await Promise.all(
        this.members.map((member) => member.call<Status>('/v3/maintenance/status').catch(() => undefined)),
      )
      const leaders = [...answers.entries()].flatMap(([index, status]) =>
        status && status.leader === status.header.member_id ? [{ index, term: Number(status.raftTerm) }] : [],
      )
      // One that is cut off may not know that it has been followed by another.
      return leaders.sort((a, b) => b.term - a.term)[0]?.index
    })
  }

  /** Cuts the connections between this member and its peers, both ways; clients still reach it. Returns how to heal it. */
  isolate(index: number): () => void {
    if (!this.#network) throw new Error('this cluster was started without a network that can be cut')
    return this.#network.isolate(index)
  }

  /** Forgets what was before the present revision, which it resolves with. */
  compact(): Promise<number> {
    return this.#untilFound('member that compacts', () => this.tryToCompact())
  }

  /** The same, tried once: thrown where there is no quorum. */
  async tryToCompact(): Promise<number> {
    const { header } = await this.call<Status>('/v3/kv/range', { key: 'AA==' })
    const { revision } = header
    await this.call('/v3/kv/compaction', { revision }).catch((error) => {
      if (!String(error).includes('has been compacted')) throw error
    })
    return Number(revision)
  }

  /** One request to the HTTP gateway of any member that answers. */
  async call<Answer>(path: string, request: object = {}): Promise<Answer> {
    const errors: unknown[] = []
    for (const member of this.members) {
      try {
        return await member.call<Answer>(path, request)
      } catch (error) {
        errors.push(error)
      }
    }
    throw new AggregateError(errors, errors.map(String).join('; '))
  }

  /** Ends it, and leaves nothing. */
  async stop(): Promise<void> {
    this.#network?.close()
    await Promise.all(this.members.map((member) => member.kill()))
    this.#remove()
    this.#forget()
  }

  async #untilFound<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
    const endMs = Date.now() + ANSWER_MS
    for (;;) {
      const found = await look().catch(() => undefined)
      if (found !== undefined) return found
      if (Date.now() > endMs) throw new Error(`etcd has no ${what}`)
      await sleep(AGAIN_MS)
    }
  }

  #remove(): void {
    for (const member of this.members) void member.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
