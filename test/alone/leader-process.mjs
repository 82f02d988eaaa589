// One that wants to lead: writes with its fence while it leads, and tells on stdout, a line of JSON each.
import { connect } from 'baton-lock'

const [, , url, node, storage] = process.argv
const say = (what) => process.stdout.write(`${JSON.stringify({ node, atMs: Date.now(), ...what })}\n`)
const baton = await connect(url, { node, ttlMs: 2_000 })
const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())

const work = async ({ signal, fence }) => {
  say({ what: 'leads', fence })
  while (!signal.aborted) {
    const answer = await fetch(storage, { method: 'POST', body: JSON.stringify({ node, fence }) })
    const { accepted } = await answer.json()
    say({ what: accepted ? 'wrote' : 'refused', fence, isLive: !signal.aborted })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  say({ what: 'stopped', fence })
}

baton.lead('boss', work, { signal: stop.signal, onQueued: () => say({ what: 'stands' }) }).then(
  () => process.exit(0),
  () => process.exit(1),
)
