import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atExit } from '@baton-lock/test-support/at-exit'
import { run, type Started, startProcess } from '@baton-lock/test-support/processes'
import { sleep } from '../harness/link.ts'
import { containerdConfig } from './containerd-config.ts'
import { digestOf } from './image.ts'
import { removeWithMounts } from './mounts.ts'
import { appliedMs, childrenFirst, snapshotsOf } from './unpacking.ts'

interface NodeOptions {
  /** Its own, which is removed when it stops. Short: a path of a unix socket has no more than 107 bytes. */
  readonly folder: string
  readonly name: string
  /** Where a content store listens that is used instead of the built-in one. */
  readonly contentSocket?: string
}

interface CallOptions {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

const START_MS = 15_000
const LOOK_MS = 20
/** While a content store is away, pulls retry without end: each call has an end of its own. */
const CALL_MS = 30_000
const SOCKET_BYTES = 107
const REMOVE_ROUNDS = 20
/** It needs nothing of the kernel but bind mounts. */
const SNAPSHOTTER = ['--snapshotter', 'native']

/** A containerd that is thrown away, with everything of its own in one folder. */
export async function startContainerd(options: NodeOptions): Promise<ContainerdNode> {
  const node = new ContainerdNode(options)
  try {
    await mkdir(options.folder, { recursive: true })
    await writeFile(join(options.folder, 'config.toml'), containerdConfig({ ...options, socket: node.socket }))
    await node.restart()
    return node
  } catch (error) {
    await node.stop()
    throw error
  }
}

export class ContainerdNode {
  readonly name: string
  readonly #folder: string
  readonly #forget: () => void
  #started: Started | undefined

  constructor({ folder, name }: NodeOptions) {
    this.name = name
    this.#folder = folder
    if (Buffer.byteLength(this.socket) > SOCKET_BYTES) throw new Error(`too long for a socket: ${this.socket}`)
    this.#forget = atExit(() => removeWithMounts(folder))
  }

  /** Where its own API listens. */
  get socket(): string {
    return join(this.#folder, 'c.sock')
  }

  /** Of the present process: a restart changes it. */
  get pid(): number | undefined {
    return this.#started?.pid
  }

  /** All that containerd has logged, restarts included. */
  log(): string {
    return readFileSync(this.#log, 'utf8')
  }

  /** Fetches the image and unpacks it. `reference` is `ADDRESS/NAME:TAG`, see `Image.at`. */
  async pull(reference: string, options?: CallOptions): Promise<void> {
    await this.#ctr(['image', 'pull', '--plain-http', ...SNAPSHOTTER, reference], options)
  }

  /** Fetches it and does not unpack it. */
  async fetch(reference: string, options?: CallOptions): Promise<void> {
    await this.#ctr(['content', 'fetch', '--plain-http', reference], options)
  }

  /** Resolves when the collector has deleted what only this image held. */
  async removeImage(reference: string, options?: CallOptions): Promise<void> {
    await this.#ctr(['image', 'rm', '--sync', reference], options)
  }

  async images(): Promise<string[]> {
    return linesOf(await this.#ctr(['image', 'ls', '-q']))
  }

  /** The digests of all blobs that the node's own metadata knows: the content store is not asked. */
  async contentList(): Promise<string[]> {
    return linesOf(await this.#ctr(['content', 'ls', '-q']))
  }

  /** Reads the whole blob through the content store; what it really is, says the digest of what was read. */
  async readBlob(digest: string, options?: CallOptions): Promise<{ readonly digest: string; readonly size: number }> {
    const bytes = await this.#ctr(['content', 'get', digest], options)
    return { digest: digestOf(bytes), size: bytes.length }
  }

  /** Forgets the layers of unpacked images, and resolves when the collector has deleted them. */
  async prune(options?: CallOptions): Promise<void> {
    await this.#ctr(['content', 'prune', 'references'], options)
  }

  /** Resolves when the garbage collector has run once. */
  async collectGarbage(options?: CallOptions): Promise<void> {
    const lease = linesOf(await this.#ctr(['leases', 'create'], options))[0]!
    await this.#ctr(['leases', 'rm', '--sync', lease], options)
  }

  /** A pull that was killed leaves a lease of a day, and with it its blobs: this ends the leases, and collects. */
  async dropLeases(options?: CallOptions): Promise<void> {
    for (const lease of linesOf(await this.#ctr(['leases', 'ls', '-q'], options))) {
      await this.#ctr(['leases', 'rm', '--sync', lease], options)
    }
  }

  /** Their keys: that of an unpacked layer is the digest of all layers up to it. */
  async snapshots(): Promise<string[]> {
    return snapshotsOf(await this.#snapshotRows()).map(({ key }) => key)
  }

  /**
   * Unpacks an image anew that was pulled before, reading its layers through the content store. Resolves with the time
   * that containerd logged for applying the layers: neither the start of `ctr` nor the preparation is in it.
   */
  async unpackAgain(manifestDigest: string, options?: CallOptions): Promise<{ readonly appliedMs: number }> {
    await this.#removeSnapshots()
    // `unpack` has a flag of its own for the snapshotter, and does not heed that of `snapshot`.
    const logged = this.log().length
    await this.#ctr(['snapshot', 'unpack', ...SNAPSHOTTER, manifestDigest], options)
    return { appliedMs: appliedMs(this.log().slice(logged)) }
  }

  /** With SIGKILL: as a crash would end it. */
  async kill(): Promise<void> {
    await this.#started?.end()
  }

  /** On the same state, ended before where it runs. Resolves when it answers. */
  async restart(): Promise<void> {
    await this.#started?.end('SIGTERM')
    const started = startProcess('containerd', ['-c', join(this.#folder, 'config.toml')], { log: this.#log })
    this.#started = started
    const endMs = Date.now() + START_MS
    while (started.isRunning && Date.now() < endMs) {
      const isUp = await this.#ctr(['version'], { timeoutMs: START_MS }).then(
        () => true,
        () => false,
      )
      if (isUp) return
      await sleep(LOOK_MS)
    }
    await started.end()
    throw new Error(`containerd did not start: ${started.complaint()}`)
  }

  /** Ends it, and leaves nothing. */
  async stop(): Promise<void> {
    await this.kill()
    removeWithMounts(this.#folder)
    this.#forget()
  }

  get #log(): string {
    return join(this.#folder, 'log')
  }

  /**
   * The collector may run meanwhile, and take a snapshot of which the child has just gone: then `rm` stops at one that
   * is not there, and the next round goes on with what is.
   */
  async #removeSnapshots(): Promise<void> {
    let failure: unknown
    for (let rounds = 0; rounds < REMOVE_ROUNDS; rounds++) {
      const keys = childrenFirst(snapshotsOf(await this.#snapshotRows()))
      // Their folders are deleted now, not while something is measured.
      if (keys.length === 0) return this.collectGarbage()
      await this.#ctr(['snapshot', ...SNAPSHOTTER, 'rm', ...keys]).catch((error) => {
        failure = error
      })
    }
    throw new Error('snapshots that cannot be removed', { cause: failure })
  }

  async #snapshotRows(): Promise<string[]> {
    return linesOf(await this.#ctr(['snapshot', ...SNAPSHOTTER, 'ls']))
  }

  async #ctr(args: readonly string[], { timeoutMs = CALL_MS, signal }: CallOptions = {}): Promise<Buffer> {
    return run('ctr', ['-a', this.socket, ...args], { timeoutMs, signal })
  }
}

function linesOf(printed: Buffer): string[] {
  const lines = printed.toString().split('\n')
  return lines.filter((line) => line.trim() !== '')
}
