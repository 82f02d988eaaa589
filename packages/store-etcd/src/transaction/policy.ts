import type { WrittenPolicy } from '@baton-lock/store/remote'
import type { Etcd } from '../etcd.ts'
import { failedCommit } from '../failures.ts'
import type { Keys } from '../keys.ts'
import type { Meta } from '../upkeep/store-state.ts'
import { isStill } from './comparisons.ts'
import { foundIn } from './found.ts'

interface At {
  readonly etcd: Etcd
  readonly keys: Keys
}

/** Nothing where there is none yet. */
export async function readPolicy({ etcd, keys }: At): Promise<WrittenPolicy | undefined> {
  const { outcomes } = await etcd.txn({ compare: [], success: [{ range: { key: keys.policy } }] })
  const [kv] = foundIn(outcomes[0]).kvs
  return kv && JSON.parse(kv.value)
}

/** Its version stands in what every transaction reads and compares. */
export async function writePolicy({ etcd, keys }: At, text: string, expectedVersion: number): Promise<boolean> {
  for (;;) {
    const read = await etcd.txn({ compare: [], success: [{ range: { key: keys.meta } }] })
    const [kv] = foundIn(read.outcomes[0]).kvs
    const meta: Meta = JSON.parse(kv!.value)
    if (meta.policyVersion !== expectedVersion) return false
    const version = expectedVersion + 1
    const txn = {
      compare: [isStill(kv!)],
      success: [
        { put: { key: keys.meta, value: JSON.stringify({ ...meta, policyVersion: version }) } },
        { put: { key: keys.policy, value: JSON.stringify({ version, text } satisfies WrittenPolicy) } },
      ],
    }
    const { succeeded } = await etcd.txn(txn).catch((error) => {
      throw failedCommit(error)
    })
    if (succeeded) return true
  }
}
