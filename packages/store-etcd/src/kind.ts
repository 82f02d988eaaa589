import type { StoreKind } from '@baton-lock/store/kind'
import { systemTiming } from '@baton-lock/store/timing'
import { begin, openEtcdStore } from './etcd-store.ts'
import { checkEtcdStore } from './upkeep/check.ts'
import { raiseFences } from './upkeep/raise-fences.ts'
import { onceOn } from './upkeep/with-etcd.ts'

const LOADED = 'then `baton store raise-fences URL`, and only then start the servers'
const BACKUP =
  'etcd is backed up by its own means, while servers run: `etcdctl snapshot save FILE`; ' +
  `to restore it, end all servers, \`etcdctl snapshot restore FILE\` on every member, ${LOADED}`
const RESTORE = `etcd is restored by its own means: end all servers, \`etcdctl snapshot restore FILE\` on every member, ${LOADED}`

export const kind: StoreKind = {
  open: (url, { clock, policy, isPolicyChosen, onStep, onFound, onSession }) =>
    openEtcdStore({
      url,
      clock,
      ...(isPolicyChosen && policy && { policy }),
      recordHistory: onStep !== undefined,
      onFound,
      onSession,
    }),
  check: checkEtcdStore,
  raiseFences: async (url, { by }) => [await raiseFences(url, by)],
  async backup() {
    throw new TypeError(BACKUP)
  },
  async restore() {
    throw new TypeError(RESTORE)
  },
  async create(url, { print }) {
    if (print) return ['etcd has no tables: the first start makes the store']
    const { isNew } = await onceOn(url, ({ etcd, keys }) => begin(etcd, keys, systemTiming))
    return [isNew ? 'made a store' : 'nothing to do: the store is there']
  },
}
