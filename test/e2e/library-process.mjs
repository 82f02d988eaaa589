// A process that uses the store itself, without a server: told what to do by lines of JSON, and answers in kind. Times
// are the machine's monotonic clock, the same in every process.
import { createInterface } from 'node:readline'
import { open } from 'baton-lock'

const [url, node, ttlMs = '30000'] = process.argv.slice(2)
const baton = await open(url, { node, ttlMs: Number(ttlMs), whenUnavailable: 'fail' })
const nowMs = () => Number(process.hrtime.bigint()) / 1e6
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
const grants = new Map()

async function acquire({ id, resource, options }) {
  try {
    const onQueued = (position) => say({ id, queued: position })
    const grant = await baton.acquire('lock', resource, { ...options, onQueued })
    grants.set(id, grant)
    say({ id, granted: grant.fence, atMs: nowMs() })
  } catch (error) {
    say({ id, error: error.name, message: error.message, atMs: nowMs() })
  }
}

async function release({ id }) {
  const atMs = nowMs()
  try {
    await grants.get(id).succeed()
    say({ id, released: true, atMs, doneMs: nowMs() })
  } catch (error) {
    say({ id, error: error.name, message: error.message })
  }
}

const input = createInterface({ input: process.stdin })
// Whoever started it is gone.
input.on('close', () => process.exit(1))
input.on('line', async (line) => {
  const { what, ...more } = JSON.parse(line)
  if (what === 'acquire') await acquire(more)
  if (what === 'release') await release(more)
  if (what === 'close') {
    await baton.close()
    process.exit(0)
  }
})
say({ ready: true })
