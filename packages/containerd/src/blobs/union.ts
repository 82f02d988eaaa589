import { access, stat } from 'node:fs/promises'
import { ContentError, errnoOf } from '../errors.ts'
import { blobPath, type NodeFolders } from '../node/folders.ts'
import type { Storage } from './storage.ts'

/** A blob that can be read. */
export interface FoundBlob {
  readonly path: string
  readonly size: number
  /** It lies in the node's own folder. */
  readonly isOwn: boolean
}

interface UnionOptions {
  readonly own: NodeFolders
  readonly nodes: Iterable<NodeFolders>
  readonly storage: Storage
  /** Where the blobs of other nodes are looked for: the mounted union. */
  readonly trees: readonly string[]
}

/** The blobs of all nodes, as this one sees them. */
export class Union {
  readonly #own: NodeFolders
  readonly #nodes: readonly NodeFolders[]
  readonly #storage: Storage
  readonly #trees: readonly string[]

  constructor({ own, nodes, storage, trees }: UnionOptions) {
    this.#own = own
    this.#nodes = [...nodes]
    this.#storage = storage
    this.#trees = trees
  }

  /** Where a blob can be read, its own folder first. Throws where the union does not answer. */
  async find(digest: string): Promise<FoundBlob | undefined> {
    const own = await this.findOwn(digest)
    if (own) return own
    for (const tree of this.#trees) {
      const path = blobPath(tree, digest)
      const size = await this.#storage.call(() => sizeOf(path))
      if (size !== undefined) return { path, size, isOwn: false }
    }
    return undefined
  }

  /** The same in the node's own folder alone. */
  async findOwn(digest: string): Promise<FoundBlob | undefined> {
    const path = blobPath(this.#own.host, digest)
    const size = await sizeOf(path)
    return size === undefined ? undefined : { path, size, isOwn: true }
  }

  /** What to say of a blob that is used here and cannot be found. */
  async missing(digest: string): Promise<ContentError> {
    const gone = (await this.absentNodes()).map((name) => `the folder of ${name} is not there`)
    const why = gone.length > 0 ? `: ${gone.join(', ')}` : '; `baton content check` looks at the folders and the union'
    return new ContentError('not-found', `${digest} is in no node's folder${why}`)
  }

  /** The nodes whose folders cannot be seen from here. */
  async absentNodes(): Promise<string[]> {
    const isThere = ({ host }: NodeFolders) =>
      this.#storage
        .call(() => access(host))
        .then(
          () => true,
          () => false,
        )
    const there = await Promise.all(this.#nodes.map(isThere))
    return this.#nodes.filter((_, place) => !there[place]).map(({ name }) => name)
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
