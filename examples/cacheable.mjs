// An adapter for the package `cacheable`: its getOrSet lets one caller of a process fill; this one, one process of a cluster.

/**
 * Those who waited take the value as it was told. Where it is too large for that, they read it from the second level that they
 * share; without one they load it themselves.
 * @template Value
 * @param {{ cache: import('cacheable').Cacheable, baton: import('baton-lock').Baton }} both
 * @param {string} key
 * @param {() => Promise<Value>} load
 * @param {{ ttlMs: number, keepMs?: number }} options keepMs: without a second level, how long the value is told to those who
 *   come later. With one, leave it out: a value that was deleted there would still be told.
 */
export function getOrSetOnce({ cache, baton }, key, load, { ttlMs, keepMs }) {
  const fill = async () => {
    // Somebody may have filled it between our look and our grant.
    const found = await cache.get(key)
    if (found !== undefined) return found
    const value = await load()
    await cache.set(key, value, ttlMs)
    return value
  }
  const fillOnce = async () => {
    const done = await baton.once(`cache:${key}`, fill, { keepMs })
    if (done.resultOmitted) return (await cache.get(key)) ?? load()
    return done.result
  }
  return cache.getOrSet(key, fillOnce, { ttl: ttlMs, throwErrors: 'function' })
}
