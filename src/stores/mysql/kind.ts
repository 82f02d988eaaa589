import type { StoreKind } from '../kind.ts'
import { checkMysqlStore } from './check.ts'
import { migrate } from './migrate.ts'
import { migrationsText } from './migrations.ts'
import { openMysqlStore } from './mysql-store.ts'
import { raiseFences } from './raise-fences.ts'

const LOADED = 'then `baton store raise-fences URL`, and only then start the servers'
const BACKUP =
  'a database is backed up by its own means, while servers run: `mysqldump --single-transaction DATABASE > FILE`; ' +
  `to restore it, end all servers, \`mysql DATABASE < FILE\`, ${LOADED}`
const RESTORE = `a database is restored by its own means: end all servers, \`mysql DATABASE < FILE\`, ${LOADED}`

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
  raiseFences: async (url, { by }) => [await raiseFences(url, by)],
  async backup() {
    throw new TypeError(BACKUP)
  },
  async restore() {
    throw new TypeError(RESTORE)
  },
  async migrate(url, { print }) {
    if (print) return [migrationsText()]
    const { applied, version } = await migrate(url)
    const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`
    return [`${done}; the tables are of version ${version}`]
  },
}
