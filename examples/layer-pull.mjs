// A layer of a container image, fetched once into the store that all nodes share. Baton knows which nodes use it.
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { baton } from './baton.mjs'
import { note } from './note.mjs'

const { LAYERS = './layers' } = process.env
const { argv, pid } = process
const digest = argv[2] ?? 'sha256:9f86d0'
const file = join(LAYERS, digest)

const exists = () => existsSync(file)
const namespace = 'content' // one node at a time works on a layer, whatever the operation
const done = await baton.run('pull', digest, ({ signal }) => fetchLayer(signal), { namespace, verify: exists })
const users = await baton.references.list(digest, { namespace })
note({ did: done.status, users })
await baton.close()

/** @param {AbortSignal} signal */
async function fetchLayer(signal) {
  note({ did: 'fetch' })
  await mkdir(LAYERS, { recursive: true })
  await writeFile(`${file}.${pid}`, 'the layer', { signal })
  await rename(`${file}.${pid}`, file)
}
