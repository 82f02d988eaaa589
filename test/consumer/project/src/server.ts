import assert from 'node:assert/strict'
import { type Baton, connect } from 'baton'
import { buildApp, jsonLines, listen, Service, systemClock } from 'baton/server'
import { openStore, type Store } from 'baton/stores'
import { openFileStore } from 'baton/stores/file'
import { openMemoryStore } from 'baton/stores/memory'
import { excludes } from './exclusion.js'

/** A server of one's own, on any store. */
async function withServer(open: (clock: ReturnType<typeof systemClock>) => Promise<Store> | Store): Promise<string[]> {
  const lines: string[] = []
  const clock = systemClock()
  const log = jsonLines((line) => lines.push(line))
  const service = new Service({ store: await open(clock), log })
  const app = buildApp({ service, log, limits: { streams: 10 }, version: '1.0.0' })
  const baton: Baton = await connect(await listen(app, { port: 0 }), { node: 'consumer' })
  assert.deepEqual(await excludes(baton), { performed: 5, together: 1 })
  await baton.close()
  await app.close()
  await service.close()
  clock.stop()
  return lines
}

assert.deepEqual(await withServer((clock) => openMemoryStore({ clock })), [])
assert.deepEqual(await withServer((clock) => openFileStore({ directory: 'data', clock })), [])
assert.deepEqual(await withServer((clock) => openStore('memory:', { clock })), [])
