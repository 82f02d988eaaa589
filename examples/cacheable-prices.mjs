// Prices behind a `cacheable`: a first level in every process and, where CACHE_URL names one, a second level in MySQL.
import KeyvMysql from '@keyv/mysql'
import { Cacheable } from 'cacheable'
import { baton } from './baton.mjs'
import { getOrSetOnce } from './cacheable.mjs'
import { note } from './note.mjs'

const { CACHE_URL, KEEP_MS, ASKS = '1', BYTES = '100' } = process.env
const keepMs = KEEP_MS ? Number(KEEP_MS) : undefined
const cache = CACHE_URL ? new Cacheable({ secondary: new KeyvMysql(CACHE_URL) }) : new Cacheable()

const prices = () => getOrSetOnce({ cache, baton }, 'prices', load, { ttlMs: 60_000, keepMs })

const asks = Array.from({ length: Number(ASKS) }, async () => note({ did: 'answer', bytes: (await prices())?.length }))
await Promise.all(asks)
await cache.disconnect()
await baton.close()

async function load() {
  note({ did: 'load' })
  return 'x'.repeat(Number(BYTES))
}
