// One process of `mysql-ring.mjs`: pulls what it is told to, and says when it was told. Times are the machine's monotonic clock.
import { createInterface } from 'node:readline'

const [dist, url, node] = process.argv.slice(2)
const { open } = await import(`${dist}/client/index.js`)
const baton = await open(url, { node })
const nowMs = () => Number(process.hrtime.bigint()) / 1e6
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
let finish = () => {}

async function pull(resource) {
  let reportedMs
  const work = async () => {
    say({ resource, holds: true })
    await new Promise((resolve) => {
      finish = resolve
    })
    reportedMs = nowMs()
  }
  const options = { reference: false, onQueued: () => say({ resource, waits: true }) }
  const { status } = await baton.run('pull', resource, work, options)
  say({ resource, status, reportedMs, endedMs: nowMs() })
}

const input = createInterface({ input: process.stdin })
input.on('close', () => process.exit(1))
input.on('line', (line) => {
  const { what, resource } = JSON.parse(line)
  if (what === 'pull') void pull(resource)
  if (what === 'finish') finish()
})
say({ ready: true })
