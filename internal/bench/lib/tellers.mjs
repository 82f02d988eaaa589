// Measurements between processes of `tell-process.mjs`.
import { pause, sharedNowMs } from './clock.mjs'

/** Between two hand-overs, so that the work after one does not slow the next. */
export const REST_MS = 3
/** From when the last waiter is queued until the success. */
const QUIET_MS = 100
const is = (name) => (line) => line[name] !== undefined
let keys = 0

/** Two processes hand a lock to each other. Returns the time of every hand-over, from the release to the start of the callback. */
export async function handOvers([first, second], times) {
  const key = `hand-over-${++keys}`
  const samples = []
  let [holder, waiter] = [first, second]
  holder.say({ type: 'ask', key })
  await holder.hear(is('started'))
  for (let count = 0; count < times; count++) {
    waiter.say({ type: 'ask', key })
    await waiter.hear(is('queued'))
    await pause(REST_MS)
    holder.say({ type: 'release' })
    const [{ released }, { started }] = await Promise.all([holder.hear(is('released')), waiter.hear(is('started'))])
    samples.push(started - released)
    ;[holder, waiter] = [waiter, holder]
  }
  holder.say({ type: 'release' })
  await holder.hear(is('released'))
  return samples
}

/** One process does the work, `count` waiters in each other process wait for it: the time until all are queued, and until the last learns of the success. */
export async function told(performer, waiting, { count, atOnce }) {
  const key = `fan-out-${++keys}`
  performer.say({ type: 'perform', key })
  await performer.hear(is('started'))
  const askedMs = sharedNowMs()
  for (const each of waiting) each.say({ type: 'await', key, count, atOnce })
  await Promise.all(waiting.map((each) => each.hear(is('queued'))))
  const queuedMs = sharedNowMs() - askedMs
  await pause(QUIET_MS)
  performer.say({ type: 'release' })
  const { released } = await performer.hear(is('released'))
  const lasts = await Promise.all(waiting.map((each) => each.hear(is('last'))))
  await performer.hear(is('performed'))
  return { queuedMs, toldMs: Math.max(...lasts.map(({ last }) => last)) - released }
}
