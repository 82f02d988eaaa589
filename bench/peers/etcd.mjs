import { Etcd3 } from 'etcd3'

const LEASE_S = 30

export function open(url) {
  const client = new Etcd3({ hosts: url })
  return {
    async cycle(key) {
      const lock = client.lock(key).ttl(LEASE_S)
      await lock.acquire()
      await lock.release()
    },
  }
}
