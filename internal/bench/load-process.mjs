// The load of a benchmark: callers that take and release locks of their own as fast as they get answers.
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { quantile } from './lib/statistics.mjs'
import { subjects } from './lib/subjects.mjs'

/** Requests under way at a time in `hold` and `wait`. */
const AT_ONCE = 256
const KEYS_A_CALLER = 16

const { kind, ...options } = JSON.parse(process.argv[2])
const subject = await subjects[kind](options)
const kept = []
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

const requests = { run, hold, wait }
const input = createInterface({ input: process.stdin })
input.on('close', () => process.exit(0))
input.on('line', async (line) => {
  const { id, type, ...request } = JSON.parse(line)
  try {
    say({ id, ...(await requests[type](request)) })
  } catch (error) {
    say({ id, error: error?.stack ?? String(error) })
  }
})
say({ ready: true })

async function run({ callers, seconds }) {
  const times = []
  const start = performance.now()
  const end = start + seconds * 1_000
  const caller = async (index) => {
    let now = performance.now()
    for (let count = 0; now < end; count++) {
      await subject.cycle(`bench:${index}:${count % KEYS_A_CALLER}`)
      const then = performance.now()
      times.push(then - now)
      now = then
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  const tookMs = performance.now() - start
  return {
    cycles: times.length,
    perSecond: times.length / (tookMs / 1_000),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  }
}

async function hold({ locks, prefix }) {
  let next = 0
  const taker = async () => {
    while (next < locks) kept.push(await subject.take(`${prefix}${next++}`))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, taker))
  return { held: kept.length }
}

/** Answers once all waiters are in their queues, where they stay. */
async function wait({ waiters, prefix, keys }) {
  let next = 0
  const stander = async () => {
    while (next < waiters) await subject.stand(`${prefix}${next++ % keys}`)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, stander))
  return { waiting: next }
}
