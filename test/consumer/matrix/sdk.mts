import { type Baton, BatonError, connect, type Done, GrantLostError, open, RefusedError } from 'baton'
import type { Service } from 'baton/server'
import type { Store } from 'baton/stores'
import type { Backend } from 'baton/stores/remote'
import type { ConformanceOptions } from 'baton/testing'

/** What the SDK is used for. The test copies this file to sdk.cts: it is an ES module, and a CommonJS one. */
export async function pull(url: string, digest: string): Promise<number> {
  await using baton: Baton = await connect(url, { node: 'node-a' })
  const done: Done<{ bytes: number }> = await baton.run('pull', digest, async ({ signal, fence }) => {
    signal.throwIfAborted()
    return { bytes: fence }
  })
  return done.result?.bytes ?? 0
}

export async function report(): Promise<string> {
  const baton = await open('memory:')
  try {
    await using lock = await baton.lock('nightly', { waitMs: 1_000 })
    const once = await baton.once('report', () => `written under ${lock.fence}`, { keepMs: 60_000 })
    const led: number | undefined = await baton.lead('reporter', ({ fence }) => fence)
    return once.status === 'performed' ? `${once.result}, ${led}` : 'skipped'
  } catch (error) {
    if (error instanceof RefusedError) return error.code
    if (error instanceof GrantLostError || error instanceof BatonError) return error.message
    throw error
  } finally {
    await baton.close()
  }
}

export type Parts = [Service, Store, Backend, ConformanceOptions]
