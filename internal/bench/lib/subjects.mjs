// The subjects of measurements, with their usual calls and default options; leases of 30 s. `cycle` awaits an acquire and a release.
import { classicClient } from './classic-client.mjs'

const own = (baton) => ({
  async cycle(key) {
    const lock = await baton.lock(key)
    await lock.release()
  },
  take: (key) => baton.lock(key),
  /** Resolves once it is in the queue. */
  stand: (key) =>
    new Promise((resolve, reject) => {
      baton.lock(key, { onQueued: () => resolve() }).catch(reject)
    }),
})

export const subjects = {
  async baton({ url, build }) {
    const { connect } = await import(build.library)
    return own(await connect(url))
  },
  async 'in-process'({ url, build }) {
    const { open } = await import(build.library)
    return own(await open(url))
  },
  classic: ({ url }) => classicClient(url),
  redlock: async ({ url }) => (await import('../peers/redlock.mjs')).open(url),
  verrou: async ({ url }) => (await import('../peers/verrou.mjs')).open(url),
  etcd: async ({ url }) => (await import('../peers/etcd.mjs')).open(url),
}
