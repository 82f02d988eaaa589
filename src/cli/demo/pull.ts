import { setTimeout as delay } from 'node:timers/promises'
import type { Baton, RunContext } from '../../client/api.ts'
import type { PreviousAttempt } from '../../core/index.ts'
import type { Layer } from './plan.ts'

/** What a node says of one layer. Plain JSON: a node in a process of its own sends it to the demo. */
export type Report = { readonly node: string; readonly layer: number } & (
  | { readonly state: 'waiting' }
  | {
      readonly state: 'fetching'
      readonly fence: number
      readonly attempt: number
      readonly previous?: PreviousAttempt
    }
  | { readonly state: 'done' }
  | { readonly state: 'skipped' }
  | { readonly state: 'failed'; readonly error: string }
)

interface Puller {
  readonly baton: Baton
  readonly registryUrl: string
  readonly parallel: number
  readonly report: (report: Report) => void
  readonly signal: AbortSignal
}

/** A node's whole part in the demo, and what a real node would do: every layer, once in the cluster. */
export async function pullAll(layers: readonly Layer[], puller: Puller): Promise<void> {
  const queue = [...layers]
  const worker = async () => {
    for (let layer = queue.shift(); layer; layer = queue.shift()) await pull(layer, puller)
  }
  await Promise.all(Array.from({ length: puller.parallel }, worker))
}

const RETRY_MS = 100

/** A failure of its own goes to the next in line; the node asks again, and most often learns that it is done. */
async function pull(layer: Layer, puller: Puller): Promise<void> {
  const { baton, signal, report } = puller
  const about = { node: baton.node, layer: layer.index }
  while (!signal.aborted) {
    let began = false
    try {
      const done = await baton.run(
        'pull',
        layer.digest,
        async (grant) => {
          began = true
          const { fence, attempt, previous } = grant
          report({ ...about, state: 'fetching', fence, attempt, ...(previous && { previous }) })
          return { bytes: await fetchLayer(layer, grant, puller) }
        },
        { signal, onQueued: () => report({ ...about, state: 'waiting' }) },
      )
      return report({ ...about, state: done.status === 'performed' ? 'done' : 'skipped' })
    } catch (error) {
      if (signal.aborted) return
      if (!began) throw error
      report({ ...about, state: 'failed', error: (error as Error).message })
      await delay(RETRY_MS)
    }
  }
}

async function fetchLayer(layer: Layer, grant: RunContext, { registryUrl, signal }: Puller): Promise<number> {
  const response = await fetch(`${registryUrl}/layers/${layer.name}?node=${encodeURIComponent(grant.node)}`, {
    signal: AbortSignal.any([grant.signal, signal]),
  })
  if (!response.ok) throw new Error(`the registry answered ${response.status}`)
  try {
    return (await response.arrayBuffer()).byteLength
  } catch (cause) {
    throw new Error('the connection broke', { cause })
  }
}
