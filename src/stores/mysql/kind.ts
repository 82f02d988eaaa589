import type { StoreKind } from '../kind.ts'
import { checkMysqlStore } from './check.ts'
import { migrate } from './migrate.ts'
import { migrationsText } from './migrations.ts'
import { openMysqlStore } from './mysql-store.ts'

export const kind: StoreKind = {
  open: (url, { policy, isPolicyChosen, onStep, onFound, onSession }) =>
    openMysqlStore({
      url,
      ...(isPolicyChosen && { policy }),
      recordHistory: onStep !== undefined,
      onFound,
      onSession,
    }),
  check: async (url) => ({ isSound: true, findings: await checkMysqlStore(url) }),
  repair: async () => ['a database looks after its own files: there is nothing to repair here'],
  async raiseFences() {
    throw new TypeError(
      'only the fences of a file store are raised so; a database that takes over from another does it by itself',
    )
  },
  async migrate(url, { print }) {
    if (print) return [migrationsText()]
    const { applied, version } = await migrate(url)
    const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`
    return [`${done}; the tables are of version ${version}`]
  },
}
