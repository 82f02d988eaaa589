import { join } from 'node:path'
import type { KeptStep } from '../history/shared-history.ts'
import type { Database, DatabaseFaultsOptions, DatabaseOptions } from './database.ts'
import { type EtcdCluster, startEtcd } from './etcd.ts'
import { EtcdFaults } from './etcd-faults.ts'
import { byLinks, Link, type Target } from './link.ts'

interface Page {
  readonly kvs?: readonly { readonly key: string; readonly value: string; readonly create_revision: string }[]
}

/** What the store writes down with the steps of one transaction to one resource. */
interface HistoryValue {
  readonly namespace: string
  readonly resource: string
  readonly wallMs: number
  readonly isWritten: boolean
  readonly steps: readonly Omit<KeptStep, 'kind' | 'namespace' | 'resource' | 'order' | 'wallMs' | 'isWritten'>[]
}

const PREFIX = 'soak/'
const HISTORY = `${PREFIX}history/`
const PAGE = 500
/** More than there are steps in one transaction. */
const STEPS = 4_096

/** An etcd of three members of the run's own. Everybody reaches it by links, one to each member. */
export class EtcdDatabase implements Database {
  readonly url: string
  readonly targets: readonly Target[]
  /** What etcd has shown to anybody stays. */
  readonly killedAtMs = []
  readonly doSessionsEndLate = true
  readonly #cluster: EtcdCluster
  readonly #links: readonly Link[]

  static async open({ folder }: DatabaseOptions): Promise<EtcdDatabase> {
    const cluster = await startEtcd({ folder: join(folder, 'etcd') })
    const links = cluster.members.map(({ clientPort }) => new Link({ port: clientPort }))
    const ports = await Promise.all(links.map((link) => link.listen()))
    return new EtcdDatabase(cluster, links, ports)
  }

  constructor(cluster: EtcdCluster, links: readonly Link[], ports: readonly number[]) {
    this.#cluster = cluster
    this.#links = links
    this.url = byLinks(cluster.url(PREFIX), ports)
    this.targets = ports.map((port) => ({ port }))
  }

  hurt(options: DatabaseFaultsOptions): void {
    new EtcdFaults({ ...options, cluster: this.#cluster, links: this.#links }).start()
  }

  async steps(): Promise<readonly KeptStep[]> {
    const steps: KeptStep[] = []
    const end = base64(`${HISTORY.slice(0, -1)}0`)
    for (let key: string | undefined = base64(HISTORY); key !== undefined; ) {
      const { kvs = [] }: Page = await this.#cluster.call<Page>('/v3/kv/range', { key, range_end: end, limit: PAGE })
      for (const { value, create_revision } of kvs) steps.push(...stepsOf(textOf(value), Number(create_revision)))
      key = kvs.length === PAGE ? after(kvs.at(-1)!.key) : undefined
    }
    return steps.sort((a, b) => a.order - b.order)
  }

  async stop(): Promise<void> {
    for (const link of this.#links) link.close()
    await this.#cluster.stop()
  }
}

function stepsOf(text: string, revision: number): KeptStep[] {
  const { steps, ...about }: HistoryValue = JSON.parse(text)
  return steps.map((step, index) => ({ kind: 'step', ...about, ...step, order: revision * STEPS + index }))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function textOf(bytes: string): string {
  return Buffer.from(bytes, 'base64').toString()
}

/** The first key that comes after this one. */
function after(key: string): string {
  return Buffer.concat([Buffer.from(key, 'base64'), Buffer.of(0)]).toString('base64')
}
