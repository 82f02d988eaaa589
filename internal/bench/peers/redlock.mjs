import { Redis } from 'ioredis'
import redlock from 'redlock'

const LEASE_MS = 30_000

export function open(url) {
  const Redlock = redlock.default ?? redlock
  const locks = new Redlock([new Redis(url)])
  return {
    async cycle(key) {
      const lock = await locks.acquire([key], LEASE_MS)
      await lock.release()
    },
  }
}
