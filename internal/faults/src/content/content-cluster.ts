import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { atExit } from '@baton-lock/test-support/at-exit'
import { startServe, urlOf } from '@baton-lock/test-support/baton-server'
import type { Started } from '@baton-lock/test-support/processes'
import { freePort } from '../harness/free-port.ts'
import { ContentNode } from './content-node.ts'
import { type Image, makeImage } from './image.ts'
import { removeWithMounts } from './mounts.ts'
import { type Registry, startRegistry } from './registry.ts'
import { RegistryLink } from './registry-link.ts'

interface ClusterOptions {
  /** Its own, which is removed when it stops. Short: sockets lie in it. */
  readonly folder: string
  /** The built command line: `dist/main.js`. */
  readonly main: string
  readonly names: readonly string[]
  /** More lines at the top of each node's configuration. */
  readonly settings?: (name: string) => string
  /** Where the lock is, instead of a server of the cluster's own: `store = "mysql://…"`. */
  readonly lock?: string
}

const START_MS = 15_000

/** A registry, a lock server and some nodes, all real, all in one folder. */
export class ContentCluster {
  readonly nodes: readonly ContentNode[]
  readonly registry: Registry
  readonly link: RegistryLink
  readonly #options: ClusterOptions
  readonly #port: number
  readonly #forget: () => void
  #server: Started | undefined

  private constructor(options: ClusterOptions, parts: Parts) {
    this.#options = options
    this.registry = parts.registry
    this.link = parts.link
    this.nodes = parts.nodes
    this.#port = parts.port
    this.#forget = parts.forget
  }

  /** Its lock server is up; the nodes are to be started, by `node.start()`. */
  static async start(options: ClusterOptions): Promise<ContentCluster> {
    const { folder, main, names, settings } = options
    await mkdir(folder, { recursive: true })
    // A content store that is killed leaves its union mounted.
    const forget = atExit(() => removeWithMounts(folder))
    const registry = await startRegistry({ folder: join(folder, 'registry') })
    const link = new RegistryLink({ registry: registry.address })
    const port = await freePort()
    const lock = options.lock ?? `servers = ["http://127.0.0.1:${port}"]`
    const nodes: ContentNode[] = []
    for (const name of names) {
      const more = settings?.(name) ?? ''
      nodes.push(new ContentNode({ main, folder, name, names, lock, door: await link.open(name), settings: more }))
    }
    const cluster = new ContentCluster(options, { registry, link, nodes, port, forget })
    if (options.lock === undefined) await cluster.startServer()
    return cluster
  }

  get serverUrl(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get serverPid(): number | undefined {
    return this.#server?.pid
  }

  node(name: string): ContentNode {
    return this.nodes.find((node) => node.name === name)!
  }

  /** The lock server, on its file store, always at the same address. */
  async startServer(): Promise<void> {
    const { main, folder } = this.#options
    const flags = ['--port', String(this.#port), '--store', `file:${join(folder, 'lock')}`]
    const log = join(folder, 'server.log')
    this.#server = startServe([process.execPath, main], flags, { log })
    await urlOf(this.#server, START_MS)
  }

  async killServer(): Promise<void> {
    await this.#server?.end()
  }

  /** An image that the registry has. */
  async pushed(options: {
    readonly name: string
    readonly layers: number | readonly string[]
    readonly layerBytes: number
  }): Promise<Image> {
    const image = makeImage({ tag: '1', seed: options.name, ...options })
    await this.registry.push(image)
    return image
  }

  /** Each of them pulls it, at the same time. */
  async pullAll(image: Image, nodes: readonly ContentNode[] = this.nodes): Promise<void> {
    await Promise.all(nodes.map(({ containerd, door }) => containerd.pull(image.at(door), { timeoutMs: 60_000 })))
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
    await this.#server?.end('SIGTERM')
    await Promise.all([this.link.close(), this.registry.stop()])
    removeWithMounts(this.#options.folder)
    this.#forget()
  }
}

interface Parts {
  readonly registry: Registry
  readonly link: RegistryLink
  readonly nodes: readonly ContentNode[]
  readonly port: number
  readonly forget: () => void
}
