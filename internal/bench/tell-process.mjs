// A process that notifies others, by Baton or over a bare `ws` stream, and reports when, by the clock that all processes share.
import { createInterface } from 'node:readline'
import { connect } from 'baton-lock'
import { sharedNowMs } from './lib/clock.mjs'

const { kind, url } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
/** The process that measures must not wake up, and use a core, during the measurement. */
const LATER_MS = 5
const sayLater = (line) => setTimeout(() => say(line), LATER_MS)
const requests = await { baton, ws }[kind]()
const input = createInterface({ input: process.stdin })
input.on('close', () => process.exit(0))
input.on('line', (line) => {
  const { type, ...request } = JSON.parse(line)
  requests[type](request)
})
say({ ready: true })

async function baton() {
  const client = await connect(url)
  let letGo = () => {}
  return {
    /** Takes the lock and keeps it until `release`. */
    ask({ key }) {
      const held = () => {
        say({ started: sharedNowMs() })
        return new Promise((resolve) => {
          letGo = resolve
        })
      }
      client.lock(key, held, { onQueued: () => say({ queued: true }) }).catch(fail)
    },
    release() {
      const released = sharedNowMs()
      letGo()
      sayLater({ released })
    },
    /** Does the work of a `once`, which ends at `release`. */
    perform({ key }) {
      const work = () => {
        say({ started: true })
        return new Promise((resolve) => {
          letGo = () => resolve({ rows: 7 })
        })
      }
      client.once(key, work).then(() => say({ performed: true }), fail)
    },
    /** Adds `count` waiters for that work, `atOnce` at a time, and reports when the last one learned of the success. */
    async await({ key, count, atOnce = count }) {
      const waiters = []
      const twice = () => fail(new Error('the work was done twice'))
      const queue = () =>
        new Promise((resolve) => {
          waiters.push(client.once(key, twice, { onQueued: resolve }))
          waiters.at(-1).catch(fail)
        })
      const stander = async () => {
        while (waiters.length < count) await queue()
      }
      await Promise.all(Array.from({ length: atOnce }, stander))
      say({ queued: true })
      const told = await Promise.all(waiters)
      const last = sharedNowMs()
      if (told.some(({ status }) => status !== 'skipped')) fail(new Error('a waiter did not skip'))
      say({ last })
    },
  }
}

async function ws() {
  const { WebSocket } = await import('./peers/ws.mjs')
  const socket = new WebSocket(url.replace('http', 'ws'), { perMessageDeflate: false })
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
  let left = 1
  socket.on('message', () => {
    if (--left === 0) say({ last: sharedNowMs() })
  })
  return {
    expect({ count }) {
      left = count
      say({ expecting: true })
    },
    send({ text }) {
      const sent = sharedNowMs()
      socket.send(text)
      sayLater({ sent })
    },
  }
}

function fail(error) {
  console.error(error)
  process.exit(1)
}
