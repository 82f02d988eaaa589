// needs: etcd
import { type EtcdCluster, startEtcd, WHOLE_ETCD } from '@baton-lock/faults/harness/etcd'
import { backendConformance, storeConformance } from '@baton-lock/store/conformance'
import type { Clock } from '@baton-lock/store/store'
import { ClockedLeases } from '@baton-lock/test-support/clocked-etcd'
import { afterAll, beforeAll, test } from 'vitest'
import { openEtcdBackend, openEtcdStore } from './index.ts'

let cluster: EtcdCluster
const leases = new Map<Clock, ClockedLeases>()
beforeAll(async () => {
  cluster = await startEtcd(WHOLE_ETCD)
}, 60_000)
afterAll(() => cluster.stop())

/** All processes of one test have one clock, and the leases with it. */
function on(clock: Clock, data: string) {
  const clocked = leases.get(clock) ?? new ClockedLeases(clock)
  leases.set(clock, clocked)
  return { clock, url: cluster.url(data), around: clocked.around.bind(clocked) }
}

storeConformance({
  name: 'etcd',
  isShared: true,
  isKept: true,
  // Each takes several seconds. All of them: CONFORMANCE_SEEDS=20.
  seeds: Number(process.env.CONFORMANCE_SEEDS ?? 2),
  open: ({ data, clock, ...options }) => openEtcdStore({ ...options, ...on(clock, data) }),
  test: (name, run) => test(name, run, 60_000),
})

backendConformance({
  name: 'etcd',
  open: ({ clock, data }) => openEtcdBackend(on(clock, data)),
  test: (name, run) => test(name, run, 60_000),
})
