import type { StoreKind } from '@baton-lock/store/kind'
import { openMysqlStore } from './mysql-store.ts'
import { checkMysqlStore } from './tables/check.ts'
import { createTablesAt } from './tables/create-tables.ts'
import { raiseFences } from './tables/raise-fences.ts'
import { tablesText } from './tables/tables.ts'

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
  raiseFences: async (url, { by }) => [await raiseFences(url, by)],
  async backup() {
    throw new TypeError(BACKUP)
  },
  async restore() {
    throw new TypeError(RESTORE)
  },
  async create(url, { print }) {
    if (print) return [tablesText()]
    return [(await createTablesAt(url)) ? 'made the tables' : 'nothing to do: the tables are there']
  },
}
