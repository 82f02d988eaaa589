import { afterAll, beforeAll, test } from 'vitest'
import { type Mariadb, startMariadb } from '../../testing/harness/mariadb.ts'
import { storeConformance } from '../../testing/index.ts'
import { openMysqlStore } from './index.ts'

let mariadb: Mariadb
let stores = 0
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())

storeConformance({
  name: 'mysql',
  open: async (options) => openMysqlStore({ ...options, url: await mariadb.createDatabase(`store_${++stores}`) }),
  test: (name, run) => test(name, run, 120_000),
})
