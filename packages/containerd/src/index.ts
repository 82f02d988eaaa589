export type { ContentNodeSettings, ContentSettings, ContentWhenUnavailable } from './config.ts'
export type { Deleted } from './content-store.ts'
export type { Counts } from './counters.ts'
export { ContentError, type ContentErrorCode } from './errors.ts'
export {
  type BlobInfo,
  type BlobReader,
  type BlobWriter,
  type Content,
  type OpenContentOptions,
  openContent,
} from './open-content.ts'
export type { ContentStatus, IngestView, PullView } from './status.ts'
export type { WriterStage } from './writer.ts'
