import { type OpenStoreOptions, openContentStore } from './coordination/open-store.ts'
import { ContentError } from './errors.ts'
import { listenForContainerd } from './grpc/listen.ts'
import type { ContentConfig } from './node/config.ts'

export { ContentError } from './errors.ts'
export { askStatus } from './grpc/ask-status.ts'
export { checkContent, type Finding } from './node/check.ts'
export { readContentConfig } from './node/config.ts'
export type { ContentStatus } from './status.ts'

/** Serves a node's content store to containerd. Returns how to stop. */
export async function serveContent(config: ContentConfig, options: OpenStoreOptions): Promise<() => Promise<void>> {
  const { socketPath } = config
  if (socketPath === undefined) {
    throw new ContentError('bad-config', 'no socket_path is named; add the path by which containerd is to find it')
  }
  for (const warning of config.warnings) options.log(warning)
  const store = await openContentStore(config, options)
  try {
    const stop = await listenForContainerd(store, { socketPath, log: options.log })
    return async () => {
      await stop()
      await store.close()
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
