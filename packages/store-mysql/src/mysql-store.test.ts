// needs: mariadb
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { backendConformance, storeConformance } from '@baton-lock/store/conformance'
import { afterAll, beforeAll, test } from 'vitest'
import { openMysqlBackend, openMysqlStore } from './index.ts'

let mariadb: Mariadb
const urls = new Map<string, string>()
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())

async function urlOf(data: string): Promise<string> {
  const url = urls.get(data) ?? (await mariadb.createDatabase(data))
  urls.set(data, url)
  return url
}

storeConformance({
  name: 'mysql',
  isShared: true,
  isKept: true,
  // What is decided is decided by the engine that etcd has too, and by the core, which has its own test.
  seeds: Number(process.env.CONFORMANCE_SEEDS ?? 8),
  open: async ({ data, ...options }) => openMysqlStore({ ...options, url: await urlOf(data) }),
  test: (name, run) => test(name, run, 120_000),
})

backendConformance({
  name: 'mysql',
  open: async ({ clock, data }) => openMysqlBackend({ clock, url: await urlOf(data) }),
  test: (name, run) => test(name, run, 60_000),
})
