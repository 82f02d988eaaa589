import type { Timing } from '../../timing.ts'
import type { Etcd } from '../etcd.ts'
import type { EtcdTarget } from '../etcd-url.ts'
import { EtcdClient } from './client.ts'

/** Connects at the first call. */
export function openEtcd(target: EtcdTarget, timing: Timing): Etcd {
  return new EtcdClient(target, timing)
}
