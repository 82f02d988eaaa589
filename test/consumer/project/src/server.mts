import assert from 'node:assert/strict'
import { type Baton, connect } from 'baton-lock'
import { jsonLines, type ServerOptions, startServer } from 'baton-lock/server'
import { openFileStore, openMemoryStore } from 'baton-lock/stores'
import { CountingStore } from './counting-store.mjs'
import { excludes } from './exclusion.mjs'

/** A server as part of a program, over a store of Baton or one's own. */
async function serve(store: ServerOptions['store']): Promise<void> {
  const lines: string[] = []
  const log = jsonLines((line) => lines.push(line))
  const server = await startServer({ store, port: 0, log, limits: { streams: 10 }, version: '1.0.0' })
  const baton: Baton = await connect(server.url, { node: 'consumer' })
  assert.deepEqual(await excludes(baton), { performed: 5, together: 1 })
  assert.match(await (await fetch(server.url)).text(), /<title>/)
  await baton.close()
  await server.drain(1_000)
  await server.close()
  assert.deepEqual(lines, [])
}

await serve('memory:')
await serve('file:data')
await serve(({ clock }) => openFileStore({ directory: 'data', clock }))

let own: CountingStore | undefined
await serve(({ clock }) => {
  own = new CountingStore(openMemoryStore({ clock }))
  return own
})
assert.ok(own && own.steps > 10)
