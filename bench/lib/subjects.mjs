// What is measured, each with its ordinary calls and options; a lease of 30 s everywhere. `cycle` is two awaited commands.

const own = (baton) => ({
  async cycle(key) {
    const lock = await baton.lock(key)
    await lock.release()
  },
  take: (key) => baton.lock(key),
  /** Resolves when it stands in line. */
  stand: (key) =>
    new Promise((resolve, reject) => {
      baton.lock(key, { onQueued: () => resolve() }).catch(reject)
    }),
})

export const subjects = {
  async baton({ url, dist }) {
    const { connect } = await import(`${dist}/client/index.js`)
    return own(await connect(url))
  },
  async 'in-process'({ url, dist }) {
    const { open } = await import(`${dist}/client/index.js`)
    return own(await open(url))
  },
  redlock: async ({ url }) => (await import('../peers/redlock.mjs')).open(url),
  verrou: async ({ url }) => (await import('../peers/verrou.mjs')).open(url),
  etcd: async ({ url }) => (await import('../peers/etcd.mjs')).open(url),
}
