// A process of `mysql-ring.mjs`: pulls resources, and reports when it learned of their end, by the machine's monotonic clock.
import { createInterface } from 'node:readline'
import { open } from 'baton-lock'

const [url, node] = process.argv.slice(2)
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
