// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { afterAll, beforeAll } from 'vitest'
import { killRest } from './cli-process.ts'
import { lateCopies } from './late-copies.ts'

let cluster: EtcdCluster
let stores = 0
beforeAll(async () => {
  cluster = await startEtcd()
}, 60_000)
afterAll(async () => {
  killRest()
  await cluster.stop()
})

lateCopies(() => cluster.url(`late${++stores}`))
