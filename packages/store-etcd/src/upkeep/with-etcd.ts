import { systemTiming } from '@baton-lock/store/timing'
import { openEtcd } from '../client/index.ts'
import type { Etcd } from '../etcd.ts'
import { type EtcdTarget, targetOf } from '../etcd-url.ts'
import { sure } from '../failures.ts'
import { Keys } from '../keys.ts'

interface Once {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly target: EtcdTarget
}

/** Work on an etcd that is not opened as a store. */
export async function onceOn<Result>(url: string, work: (once: Once) => Promise<Result>): Promise<Result> {
  const target = targetOf(url)
  const etcd = openEtcd(target, systemTiming)
  try {
    return await sure(work({ etcd, keys: new Keys(target.prefix), target }))
  } finally {
    await etcd.close()
  }
}
