import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ClientClock, pause } from '@baton-lock/client/internal'
import type { Storage } from '../blobs/storage.ts'
import { ContentError, errnoOf } from '../errors.ts'
import type { NodeFolders } from './folders.ts'

interface UnionMountOptions {
  readonly own: NodeFolders
  readonly nodes: readonly NodeFolders[]
  readonly clock: ClientClock
  readonly storage: Storage
  readonly log: (sentence: string) => void
}

/** A file that another node publishes is seen at once: nothing is cached on the way. */
const OPTIONS = 'allow_other,use_ino,cache.files=off,cache.attr=0,cache.entry=0,cache.negative_entry=0'
const MOUNTED_WITHIN_MS = 5_000
const LOOK_MS = 10
const LOOK_AGAIN_MS = 1_000
/** By this the mount of an earlier process is known, and whether it has the same branches. */
const NAME = 'baton-content-'

/** The union of all nodes' `host` folders at this node's `merged`, by mergerfs. Mounted again if it goes away. */
export class UnionMount {
  readonly #options: UnionMountOptions
  readonly #fsname: string
  readonly #closed = new AbortController()
  #isOurs = false

  constructor(options: UnionMountOptions) {
    this.#options = options
    this.#fsname = `${NAME}${createHash('sha256').update(branchesOf(options.nodes)).digest('hex').slice(0, 16)}`
  }

  /** Mounts it, unless it is: by an earlier process of this node, or by somebody who knows what belongs there. */
  async open(): Promise<void> {
    const { own, log } = this.#options
    await writeFile(join(own.branches, own.name), '')
    const mounted = await mountedAt(own.merged)
    const missing = mounted === undefined ? [] : await this.#missingBranches()
    if (mounted !== undefined && !mounted.startsWith(NAME)) {
      if (missing.length === 0) return
      throw new ContentError(
        'mount-failed',
        `${own.merged} does not show the folders of ${missing.join(', ')}; unmount it, or mount it over every node's host folder`,
      )
    }
    // That of an earlier process is as good as a new one, if it has the same branches and is alive.
    if (mounted !== this.#fsname || missing.includes(own.name)) {
      if (mounted !== undefined) await unmount(own.merged)
      await this.#mount()
    }
    for (const name of await this.#missingBranches()) log(`the folder of ${name} does not show in the union yet`)
    this.#isOurs = true
    void this.#watch()
  }

  /** The nodes whose folders are there and cannot be seen in the union. */
  async #missingBranches(): Promise<string[]> {
    const { own, nodes, storage } = this.#options
    const names = (folder: string) => storage.call(() => readdir(folder)).catch(() => [] as string[])
    const marked: string[] = []
    for (const { name, branches } of nodes) if ((await names(branches)).includes(name)) marked.push(name)
    // After that: a node that is just starting is not missed.
    const seen = new Set(await names(join(own.merged, '.baton', 'branches')))
    return marked.filter((name) => !seen.has(name))
  }

  async close(): Promise<void> {
    this.#closed.abort()
    if (this.#isOurs) await unmount(this.#options.own.merged).catch(() => {})
  }

  async #mount(): Promise<void> {
    const { own, nodes, clock } = this.#options
    const args = ['-f', '-o', `${OPTIONS},fsname=${this.#fsname}`, branchesOf(nodes), own.merged]
    // It outlives this process if that is killed: the next one finds it.
    const child = spawn('mergerfs', args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true })
    child.unref()
    let said = ''
    let failure: Error | undefined
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    child.once('error', (error) => {
      failure = error
    })
    const untilMs = clock.monoMs() + MOUNTED_WITHIN_MS
    while ((await mountedAt(own.merged)) !== this.#fsname) {
      if (failure) throw mountFailed(own.merged, failure)
      if (child.exitCode !== null || clock.monoMs() > untilMs)
        throw mountFailed(own.merged, new Error(said.trim() || 'it ended'))
      await pause(clock, LOOK_MS)
    }
    ;(child.stderr as { unref?: () => void } | null)?.unref?.()
  }

  /** It is mounted again where it goes away. */
  async #watch(): Promise<void> {
    const { own, clock, log } = this.#options
    const { signal } = this.#closed
    while (!signal.aborted) {
      await pause(clock, LOOK_AGAIN_MS, signal).catch(() => {})
      if (signal.aborted || (await this.#isThere())) continue
      log(`the union at ${own.merged} is gone; it is mounted again`)
      await unmount(own.merged).catch(() => {})
      await this.#mount().catch((error: Error) => log(error.message))
    }
  }

  /** One that hangs is there: only one whose process has ended is not. */
  async #isThere(): Promise<boolean> {
    const { own, storage } = this.#options
    if ((await mountedAt(own.merged)) !== this.#fsname) return false
    return storage
      .call(() => stat(own.merged))
      .then(
        () => true,
        (error) => errnoOf(error) !== 'ENOTCONN',
      )
  }
}

function branchesOf(nodes: readonly NodeFolders[]): string {
  return nodes.map(({ host }) => `${host}=RO`).join(':')
}

/** What is mounted there, by the name of its source; nothing where nothing is. */
export async function mountedAt(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => path)
  let source: string | undefined
  for (const line of (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')) {
    const [mount, by] = line.split(' - ')
    if (unescaped(mount?.split(' ')[4] ?? '') === real) source = by?.split(' ')[1]
  }
  return source
}

/** Spaces and the like are written as octal numbers there. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

async function unmount(path: string): Promise<void> {
  // Lazily: who still reads there may finish, and a file system that hangs does not keep it.
  await promisify(execFile)('umount', ['-l', path])
}

function mountFailed(path: string, cause: Error): ContentError {
  const advice =
    errnoOf(cause) === 'ENOENT'
      ? 'mergerfs is not installed: `apt-get install mergerfs`'
      : `${cause.message}; it needs root and /dev/fuse`
  return new ContentError('mount-failed', `the union cannot be mounted at ${path}: ${advice}`, { cause })
}
