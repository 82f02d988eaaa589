import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from '@baton-lock/client'
import { openMysqlBackend } from '@baton-lock/store-mysql'
import { backendConformance } from '@baton-lock/testing'
import { startServer } from 'baton-lock/server'
import { openRemoteStore, systemTiming } from 'baton-lock/stores'
import { CountingBackend } from './counting-backend.mjs'
import { excludes } from './exclusion.mjs'

/** URLs of empty databases, by name. */
const databases: Readonly<Record<string, string>> = JSON.parse(process.env.DATABASES ?? '{}')

function urlOf(name: string): string {
  return databases[name] ?? assert.fail(`there is no database ${name}`)
}

backendConformance({
  name: 'counting',
  open: async ({ clock, data }) => new CountingBackend(await openMysqlBackend({ url: urlOf(data), clock })),
  test: (name, run) => void test(name, run),
})

test('a server works over a backend of its own', async () => {
  const backend = new CountingBackend(await openMysqlBackend({ url: urlOf('own') }))
  const store = () => openRemoteStore(backend, { timing: systemTiming })
  const server = await startServer({ store, port: 0 })
  const baton = await connect(server.url)
  assert.deepEqual(await excludes(baton), { performed: 5, together: 1 })
  assert.ok(backend.transactions >= 6)
  await baton.close()
  await server.close()
})
