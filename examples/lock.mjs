// A plain lock: everybody does it, one at a time, in the order of asking.
import { setTimeout as sleep } from 'node:timers/promises'
import { baton } from './baton.mjs'
import { note } from './note.mjs'

// Around a function …
await baton.lock('ledger', async ({ fence }) => {
  await book(fence)
})

// … or for as long as you like. TypeScript and Node 24 have `await using lock = await baton.lock('ledger')` for this.
const lock = await baton.lock('ledger')
try {
  await book(lock.fence)
} finally {
  await lock.release()
}
await baton.close()

/** @param {number} fence */
async function book(fence) {
  note({ did: 'enter', fence })
  await sleep(20)
  note({ did: 'leave', fence })
}
