// Every instance of a release wants the schema to be there before it serves. One makes it, the others wait for that.
import { baton } from './baton.mjs'
import { note } from './note.mjs'

const { RELEASE: release = 'v42' } = process.env
const DAY_MS = 24 * 3_600_000

const done = await baton.lock('migrate', () =>
  baton.once(`migrate:${release}`, () => migrate(release), { keepMs: 365 * DAY_MS }),
)
serve(done.by)
await baton.close()

/** @param {string} release */
async function migrate(release) {
  note({ did: 'migrate', release })
}

/** @param {string | undefined} migratedBy */
function serve(migratedBy) {
  note({ did: 'serve', release, migratedBy })
}
