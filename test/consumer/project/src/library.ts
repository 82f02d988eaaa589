import assert from 'node:assert/strict'
import { open } from 'baton'
import { excludes } from './exclusion.js'

/** The SDK in one process, without a server. */
const baton = await open('memory:', { node: 'consumer' })
assert.deepEqual(await excludes(baton), { performed: 5, together: 1 })
await baton.close()

await assert.rejects(open('redis://localhost'), { name: 'ArgumentError', message: /^there is no store 'redis:'; use / })
// Its driver is a package of its own, which is not installed here.
await assert.rejects(open('mysql://user@localhost/database'), {
  name: 'ArgumentError',
  message: /`npm install mysql2`$/,
})
