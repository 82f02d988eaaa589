import type { Baton as ClientBaton } from '@baton-lock/client'
import { ContentError, openContent } from '@baton-lock/containerd'
import type { ContentStatus } from '@baton-lock/containerd/serve'
import { openEtcdBackend, openEtcdStore } from '@baton-lock/store-etcd'
import { openMysqlBackend, openMysqlStore } from '@baton-lock/store-mysql'
import { backendConformance, type Random, SimulatedClock, storeConformance } from '@baton-lock/testing'
import { type Baton, BatonError, connect, type Done, GrantLostError, open, RefusedError } from 'baton-lock'
import { type Server, startServer } from 'baton-lock/server'
import { type Backend, openRemoteStore, type Store, systemTiming } from 'baton-lock/stores'

/** What the SDK is used for. The tests compile this file as an ES module and as CommonJS. */
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

/** Values of one package are accepted by the others. */
export const sameClient = (baton: ClientBaton): Baton => baton
export const serveMysql = (url: string): Promise<Server> =>
  startServer({ store: ({ clock }) => openMysqlStore({ url, clock }) })
export const serveEtcd = (url: string): Promise<Server> =>
  startServer({ store: ({ clock }) => openEtcdStore({ url, clock }) })
export const overMysql = async (url: string): Promise<Store> =>
  openRemoteStore(await openMysqlBackend({ url }), { timing: systemTiming })

export function conform(openStore: () => Promise<Store>, openBackend: () => Promise<Backend>): void {
  const test = (_name: string, run: () => Promise<void>) => void run()
  storeConformance({ name: 'store', open: openStore, test })
  backendConformance({ name: 'backend', open: openBackend, test })
  const clock = new SimulatedClock()
  backendConformance({ name: 'etcd', open: ({ data }) => openEtcdBackend({ url: data, clock }), test })
}

export async function blobs(file: string): Promise<number> {
  await using content = await openContent(file)
  return content.list().length
}

export const codeOf = (error: unknown): string => (error instanceof ContentError ? error.code : 'unknown')
export type Parts = [ContentStatus, Random]
