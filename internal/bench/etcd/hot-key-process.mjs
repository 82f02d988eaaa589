// A process of `hot-key.mjs`: its callers take one lock and release it, over and over, and record every hold.
import { createInterface } from 'node:readline'
import { open } from 'baton-lock'
import { pause, sharedNowMs } from '../lib/clock.mjs'

const { url, node } = JSON.parse(process.argv[2])
const baton = await open(url, { node })
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

async function take(key) {
  const askedMs = sharedNowMs()
  let place
  let answeredMs
  const onQueued = (position) => {
    // Called again when the position changes.
    if (place !== undefined) return
    place = position
    answeredMs = sharedNowMs()
  }
  const lock = await baton.lock(key, { onQueued })
  const grantedMs = sharedNowMs()
  const { fence } = lock
  const releasingMs = sharedNowMs()
  await lock.release()
  const releasedMs = sharedNowMs()
  return { fence, place: place ?? 0, askedMs, answeredMs: answeredMs ?? grantedMs, releasingMs, releasedMs }
}

const input = createInterface({ input: process.stdin })
input.on('close', () => process.exit(0))
input.on('line', async (line) => {
  const { key, callers, startMs, seconds } = JSON.parse(line)
  const holds = []
  await pause(startMs - sharedNowMs())
  const caller = async () => {
    while (sharedNowMs() < startMs + seconds * 1_000) holds.push(await take(key))
  }
  await Promise.all(Array.from({ length: callers }, caller))
  say({ holds, endedMs: sharedNowMs() })
})
say({ ready: true })
