import type { Timing } from '@baton-lock/store/timing'
import type { Etcd } from '../etcd.ts'
import type { EtcdTarget } from '../etcd-url.ts'
import { EtcdClient } from './client.ts'

/** Connects at the first call. */
export function openEtcd(target: EtcdTarget, timing: Timing): Etcd {
  return new EtcdClient(target, timing)
}
