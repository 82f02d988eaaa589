import type { ContentStore, Deleted } from './blobs/content-store.ts'
import { isDigest } from './blobs/digest.ts'
import { openContentStore } from './coordination/open-store.ts'
import { ContentError } from './errors.ts'
import type { Writer } from './ingests/writer.ts'
import { type ContentSettings, contentConfigOf, readContentConfig } from './node/config.ts'
import { type ContentStatus, statusOf } from './status.ts'

/** What `openContent` may be told beside its configuration. */
export interface OpenContentOptions {
  /** Told of what is worth a line in a log. Default: nobody is. */
  readonly log?: (sentence: string) => void
}

/** A blob that this node has. */
export interface BlobInfo {
  /** `sha256:…` */
  readonly digest: string
  /** In bytes. */
  readonly size: number
  /** Since when this node has it. */
  readonly since: Date
}

/** A blob to be written; or one that another node has written, of which nothing is to be fetched. Leaving it without a commit lets the next node try. */
export interface BlobWriter extends AsyncDisposable {
  /** It is there: `commit` takes it, without a byte. */
  readonly isThere: boolean
  /** Where to go on: more than 0 where an earlier try was broken off. */
  readonly offset: number
  /** Appends. */
  write(data: Uint8Array): Promise<void>
  /** Checks size and digest, and publishes it to all nodes. */
  commit(): Promise<void>
  /** Gives it up: the next node in line takes over. What was written is kept for another try. */
  close(): Promise<void>
}

/** A blob to be read. */
export interface BlobReader {
  /** In bytes. */
  readonly size: number
  /** Some bytes from there on, `length` at most; none at the end. */
  read(position: { readonly offset: number; readonly length: number }): Promise<Uint8Array>
  /** All of it, in order. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>
}

/** The content store of one node, without containerd. Disposing of it closes it. */
export interface Content extends AsyncDisposable {
  /** The node that it belongs to. */
  readonly node: string
  /**
   * Asks for a blob, and waits until this node may write it or another one has. One writer at a time for each `ref` (default:
   * the digest).
   */
  writer(blob: {
    readonly digest: string
    readonly size: number
    readonly ref?: string
    readonly signal?: AbortSignal
  }): Promise<BlobWriter>
  /** A blob that this node has, whoever wrote it. Throws `not-found` where it does not. */
  reader(digest: string): Promise<BlobReader>
  /** A blob that this node has; nothing of what only other nodes have. */
  info(digest: string): BlobInfo | undefined
  /** All that this node has. */
  list(): readonly BlobInfo[]
  /** This node does not use it any more. It is removed, wherever it lies, when no node does. */
  delete(digest: string): Promise<Deleted>
  /** Who pulls what, how far, and what was saved. */
  status(): Promise<ContentStatus>
  /** Gives up what is being written, and unmounts the union. */
  close(): Promise<void>
}

/** Opens the content store of a node, by its configuration or the path of its TOML file. */
export async function openContent(
  config: ContentSettings | string,
  { log = () => {} }: OpenContentOptions = {},
): Promise<Content> {
  const checked = typeof config === 'string' ? readContentConfig(config) : contentConfigOf(config, 'the configuration')
  for (const warning of checked.warnings) log(warning)
  return contentOf(await openContentStore(checked, { log }))
}

function contentOf(store: ContentStore): Content {
  const infoOf = (digest: string): BlobInfo | undefined => {
    const use = store.info(digest)
    return use && { digest, size: use.size, since: new Date(use.atMs) }
  }
  const close = () => store.close()
  return {
    node: store.config.node,
    async writer({ digest, size, ref = digest, signal }) {
      checkDigest(digest)
      signal?.throwIfAborted()
      const writer = await store.openWriter({ ref, total: size, expected: digest })
      const giveUp = () => void writer.close()
      signal?.addEventListener('abort', giveUp, { once: true })
      try {
        await writer.ready()
      } catch (error) {
        await writer.close()
        throw error
      } finally {
        signal?.removeEventListener('abort', giveUp)
      }
      return blobWriter(writer, digest)
    },
    async reader(digest) {
      checkDigest(digest)
      const size = await store.readers.sizeOf(digest)
      const read = (offset: number, length: number) => store.readers.read(digest, offset, length)
      return {
        size,
        read: ({ offset, length }) => read(offset, length),
        async *[Symbol.asyncIterator]() {
          for (let offset = 0; offset < size; ) {
            const data = await read(offset, size - offset)
            offset += data.byteLength
            yield data
          }
        },
      }
    },
    info: infoOf,
    list: () => [...store.uses.all().keys()].map((digest) => infoOf(digest)!),
    async delete(digest) {
      checkDigest(digest)
      return store.deleteAndHear(digest)
    },
    status: () => statusOf(store),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function blobWriter(writer: Writer, digest: string): BlobWriter {
  const close = () => writer.close()
  return {
    get isThere() {
      return writer.stage === 'found'
    },
    get offset() {
      return writer.offset
    },
    async write(data) {
      await writer.write(writer.offset, data)
    },
    async commit() {
      await writer.commit({ expected: digest })
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function checkDigest(digest: string): void {
  if (!isDigest(digest)) {
    throw new ContentError('bad-request', `'${digest}' is no digest; write it like sha256: and 64 hex digits`)
  }
}
