export type { Deleted } from './blobs/content-store.ts'
export type { Counts } from './counters.ts'
export { ContentError, type ContentErrorCode } from './errors.ts'
export type { WriterStage } from './ingests/writer.ts'
export type { ContentNodeSettings, ContentSettings, ContentWhenUnavailable } from './node/config.ts'
export {
  type BlobInfo,
  type BlobReader,
  type BlobWriter,
  type Content,
  type OpenContentOptions,
  openContent,
} from './open-content.ts'
export type { ContentStatus, IngestView, PullView } from './status.ts'
