// A cache that is empty, and many who ask at once: one loads, everybody else is told the value.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { baton } from './baton.mjs'
import { note } from './note.mjs'

const { CACHE = './prices.json', ASKS = '1', BYTES = '100' } = process.env
const keepMs = Number(process.env.KEEP_MS ?? 60_000)

async function prices() {
  const done = await baton.once('prices', fill, { keepMs })
  // Too large to be told: whoever loaded it has put it where all can read it.
  if (done.resultOmitted) return readCache()
  return done.result
}

async function fill() {
  const loaded = await load()
  await writeCache(loaded)
  return loaded
}

const asks = Array.from({ length: Number(ASKS) }, async () => note({ did: 'answer', bytes: (await prices())?.length }))
await Promise.all(asks)
await baton.close()

/** The slow query that should not run fifty times. */
async function load() {
  note({ did: 'load' })
  return 'x'.repeat(Number(BYTES))
}

/** @param {string} loaded */
async function writeCache(loaded) {
  await writeFile(`${CACHE}.new`, loaded)
  await rename(`${CACHE}.new`, CACHE)
}

async function readCache() {
  note({ did: 'read cache' })
  return readFile(CACHE, 'utf8')
}
