import { once } from 'node:events'
import { type Baton, connect } from '@baton-lock/client'
import { EXIT } from '../exit.ts'

/** What a node of the demo reports. It begins to pull when it is sent any message. */
export type Report =
  | { readonly state: 'ready' }
  | { readonly state: 'waits' | 'fetched'; readonly layer: number }
  | { readonly state: 'skipped'; readonly layer: number; readonly by: string | undefined }
  | { readonly state: 'fetches'; readonly layer: number; readonly fence: number; readonly after: string | undefined }

export interface DemoNodeOptions {
  readonly node: string
  readonly server: string
  readonly registry: string
  readonly ttlMs: number
  /** In the order in which this node pulls them. */
  readonly layers: readonly number[]
}

/** One node of the demo, in a process of its own. It ends when the demo goes away. */
export async function runDemoNode({ node, server, registry, ttlMs, layers }: DemoNodeOptions): Promise<number> {
  const report = (message: Report) => void process.send?.(message)
  process.once('disconnect', () => process.exit(EXIT.failed))
  const baton = await connect(server, { node, ttlMs, onNotice: () => {} })
  const begin = once(process, 'message')
  report({ state: 'ready' })
  await begin
  for (const layer of layers) await pull(baton, layer, registry, report)
  await baton.close()
  return process.exit(EXIT.ok)
}

/** Pulls a layer as any program would: fetches it, or skips it because another node has fetched it. */
async function pull(baton: Baton, layer: number, registry: string, report: (report: Report) => void): Promise<void> {
  const done = await baton.run(
    'pull',
    `layer-${layer}`,
    async ({ fence, previous, signal }) => {
      report({ state: 'fetches', layer, fence, after: previous && `${previous.node} ${previous.outcome}` })
      const answer = await fetch(`${registry}/${layer}/${baton.node}`, { signal })
      await answer.arrayBuffer()
    },
    { onQueued: () => report({ state: 'waits', layer }) },
  )
  report(done.status === 'performed' ? { state: 'fetched', layer } : { state: 'skipped', layer, by: done.by })
}
