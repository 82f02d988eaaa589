// A nightly job. Every machine starts it by its own timer; one of them does it.
import { baton } from './baton.mjs'
import { note } from './note.mjs'

// Somewhat less than the time between two starts: the clocks of the machines differ.
const keepMs = Number(process.env.KEEP_MS ?? 20 * 3_600_000)

const done = await baton.once('nightly', () => writeReport(), { keepMs })
if (done.status === 'skipped') note({ did: 'skip', by: done.by })
await baton.close()

async function writeReport() {
  note({ did: 'report' })
}
