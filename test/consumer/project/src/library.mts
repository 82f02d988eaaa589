import assert from 'node:assert/strict'
import { open } from 'baton-lock'
import { excludes } from './exclusion.mjs'

/** The SDK without a server, in one process. */
const baton = await open('memory:', { node: 'consumer' })
assert.deepEqual(await excludes(baton), { performed: 5, together: 1 })
await baton.close()

await assert.rejects(open('redis://localhost'), { name: 'ArgumentError', message: /^there is no store 'redis:'; use / })
