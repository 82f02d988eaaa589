import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run, type Started, startProcess } from '@baton-lock/test-support/processes'
import { type ContainerdNode, startContainerd } from './containerd-node.ts'
import { mountedBy } from './mounts.ts'

interface ContentNodeOptions {
  /** The built command line: `dist/main.js`. */
  readonly main: string
  /** Of the whole cluster; the node has folders of its own in it. */
  readonly folder: string
  readonly name: string
  /** All nodes of the cluster. */
  readonly names: readonly string[]
  /** The line of its configuration that says where the lock is. */
  readonly lock: string
  /** Its way to the registry. */
  readonly door: string
  /** More lines at the top of its configuration. */
  readonly settings?: string
}

/** What of it the tests look at. */
interface NodeStatus {
  readonly isCoordinated: boolean
  readonly uncoordinated: number
  readonly pending: number
  readonly fetched: { readonly gets: number; readonly bytes: number }
  readonly saved: { readonly gets: number; readonly bytes: number }
  readonly pulls: readonly { readonly digest: string; readonly node: string; readonly waiting: readonly string[] }[]
  readonly ingests: readonly { readonly ref: string; readonly stage: string; readonly offset: number }[]
  readonly absentNodes: readonly string[]
}

const START_MS = 15_000
const CALL_MS = 20_000

/** One node as users have it: `baton content`, and a containerd over it. Either can be killed and started again. */
export class ContentNode {
  readonly name: string
  readonly door: string
  readonly #options: ContentNodeOptions
  #store: Started | undefined
  #containerd: ContainerdNode | undefined

  constructor(options: ContentNodeOptions) {
    this.#options = options
    this.name = options.name
    this.door = options.door
  }

  /** Resolves when containerd answers. */
  async start(): Promise<void> {
    await this.startStore()
    const { name, socket: contentSocket } = this
    this.#containerd = await startContainerd({ folder: join(this.root, 'c'), name, contentSocket })
  }

  get root(): string {
    return join(this.#options.folder, this.name)
  }

  get config(): string {
    return join(this.root, 'content.toml')
  }

  get socket(): string {
    return join(this.root, 's.sock')
  }

  get containerd(): ContainerdNode {
    return this.#containerd!
  }

  get storePid(): number | undefined {
    return this.#store?.pid
  }

  /** Of the mergerfs that shows this node what all of them have. */
  get unionPid(): number | undefined {
    return mountedBy(join(this.root, 'merged'))
  }

  /** What the content store has said, restarts included. */
  log(): string {
    return readFileSync(this.#log, 'utf8')
  }

  /** The content store alone, for the first time or again: containerd goes on without it. */
  async startStore(): Promise<void> {
    await this.configure()
    const args = [this.#options.main, 'content', '--config', this.config]
    this.#store = startProcess(process.execPath, args, { log: this.#log })
    await this.#store.says(/baton content listening on/, START_MS)
  }

  async killStore(): Promise<void> {
    await this.#store?.end()
  }

  async stopStore(): Promise<void> {
    await this.#store?.end('SIGTERM')
  }

  /** Both of them, as a machine that loses power. */
  async kill(): Promise<void> {
    await Promise.all([this.killStore(), this.#containerd?.kill()])
  }

  /** Both of them again, on what is left. */
  async revive(): Promise<void> {
    await this.startStore()
    await this.containerd.restart()
  }

  /** As `baton content status --json` prints it. */
  async status(): Promise<NodeStatus> {
    const args = [this.#options.main, 'content', 'status', '--config', this.config, '--json']
    return JSON.parse((await run(process.execPath, args, { timeoutMs: CALL_MS })).toString())
  }

  /** The blobs that lie in its own folder. */
  hostBlobs(): string[] {
    return listed(join(this.root, 'host', 'blobs', 'sha256')).map((hex) => `sha256:${hex}`)
  }

  /** The blobs that it counts on, whoever wrote them. */
  uses(): string[] {
    return listed(join(this.root, 'host', '.baton', 'uses'))
      .filter((hex) => hex.length === 64)
      .map((hex) => `sha256:${hex}`)
  }

  /** Ends it, unmounts, and leaves its files. */
  async stop(): Promise<void> {
    await this.#containerd?.stop()
    await this.#store?.end('SIGTERM')
  }

  /** Writes its configuration, where there is none. */
  async configure(): Promise<void> {
    if (existsSync(this.config)) return
    const { folder, name, names, lock, settings = '' } = this.#options
    await mkdir(this.root, { recursive: true })
    const nodes = names.map((each) => `[nodes.${each}]\nroot = ${JSON.stringify(join(folder, each))}\n`)
    const top = `current_node = "${name}"\nsocket_path = "${this.socket}"\n${lock}\n${settings}\n`
    await writeFile(this.config, top + nodes.join(''))
  }

  get #log(): string {
    return join(this.root, 'store.log')
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
