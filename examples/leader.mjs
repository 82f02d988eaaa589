// One leads, the others stand by. Start it on several machines; stop it with SIGTERM.
import { setTimeout as sleep } from 'node:timers/promises'
import { baton } from './baton.mjs'
import { note } from './note.mjs'

const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

/** @param {import('baton-lock').LeadContext} context */
async function schedule({ fence, signal }) {
  while (!signal.aborted) {
    tick(fence) // whatever it writes to refuses a lower fence than it has seen
    await sleep(50)
  }
}

await baton.lead('scheduler', schedule, { signal: stop.signal })
await baton.close()

/**
 * A log whose readers pass over every line with a lower fence than one before it. In SQL: `… WHERE fence <= ?`.
 * @param {number} fence
 */
function tick(fence) {
  note({ did: 'tick', fence })
}
