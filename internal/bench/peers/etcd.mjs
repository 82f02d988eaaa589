import { Etcd3 } from 'etcd3'

const LEASE_S = 30

/** `urls`: those of all members, separated by commas. */
export function open(urls) {
  const client = new Etcd3({ hosts: urls.split(',') })
  return {
    async cycle(key) {
      const lock = client.lock(key).ttl(LEASE_S)
      await lock.acquire()
      await lock.release()
    },
  }
}
