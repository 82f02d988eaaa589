import { Verrou } from '@verrou/core'
import { redisStore } from '@verrou/core/drivers/redis'
import { Redis } from 'ioredis'

const LEASE = '30s'

export function open(url) {
  const driver = redisStore({ connection: new Redis(url) })
  const verrou = new Verrou({ default: 'redis', stores: { redis: { driver } } })
  return {
    async cycle(key) {
      const lock = verrou.createLock(key, LEASE)
      if (!(await lock.acquire())) throw new Error(`${key} was not acquired`)
      await lock.release()
    },
  }
}
