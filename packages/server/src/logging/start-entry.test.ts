import { LIMITS, QUOTAS } from '@baton-lock/protocol'
import { StoreUnavailable } from '@baton-lock/service'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import { logStart, type Started } from './start-entry.ts'

const started: Started = {
  url: 'http://127.0.0.1:8086',
  version: '1.2.3',
  store: { kind: 'file', at: '/var/lib/baton', isNew: false },
  tokens: 2,
  tls: 'on',
  resultLimit: LIMITS.resultBytes,
  quotas: QUOTAS,
}

const usual = {
  version: '1.2.3',
  nodeVersion: process.version,
  pid: process.pid,
  url: 'http://127.0.0.1:8086',
  store: 'file',
  storeAt: '/var/lib/baton',
  storeId: 'memory',
  storeIsNew: false,
  tokens: 2,
  tls: 'on',
}

test('a server on the wrong store is recognised by what it says at its start', async () => {
  const { log, entries } = recordedLog()
  const { service, post } = newWorld()
  await post('/v1/acquire', { operation: 'lock', resource: 'r', node: 'a' })
  await logStart(log, service, started)
  const counts = { resources: 1, grants: 1, waiters: 0, sessions: 0 }
  expect(entries).toEqual([['info', 'started', { ...usual, ...counts, policyVersion: 1 }]])
})

test('limits and quotas are told where they are not the usual ones', async () => {
  const { log, entries } = recordedLog()
  const quotas = { ...QUOTAS, token: { ...QUOTAS.token, places: 7 } }
  await logStart(log, newWorld().service, { ...started, resultLimit: 32_768, quotas })
  expect(entries[0]?.[2]).toMatchObject({ resultLimit: 32_768, quotas: { 'token.places': 7 } })
})

test('a store that has gone away since is no reason to say nothing', async () => {
  const { log, entries } = recordedLog()
  const away = () => Promise.reject(new StoreUnavailable('away'))
  const { service } = newWorld({ wrap: (store) => overlaid(store, { counts: away, policy: away }) })
  await logStart(log, service, started)
  expect(entries).toEqual([['info', 'started', usual]])
})
