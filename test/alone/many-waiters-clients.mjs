// The clients of many-waiters.verify.test.ts, in a process of their own: plain sockets, so that ten thousand cost little here.
// Told by lines on stdin what to do, says by lines of JSON on stdout what it saw.
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const url = new URL(process.argv[2])
const AT_ONCE = 200
const agent = new Agent({ keepAlive: true })
const waiters = []
let told = 0
let lost = 0
const say = (what) => console.log(JSON.stringify(what))

/** Opens one stream, calls back with all of its text so far whenever some arrives. */
function listen(path, onText) {
  const socket = connect({ host: url.hostname, port: Number(url.port) })
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    text += chunk
    onText(text)
  })
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

/** Waits with `count` owners for what becomes of one key. */
async function wait(count) {
  let next = 0
  const one = async () => {
    while (next < count) {
      const owner = `n${next++}`
      await new Promise((ready) => {
        let heard = false
        const socket = listen(`/v1/events?resource=busy&operation=pull&owner=${owner}`, (text) => {
          if (text.includes('event: state')) ready()
          if (heard || !text.includes('"status":"skip"')) return
          heard = true
          if (++told === count) say({ told })
        })
        socket.on('close', () => {
          if (!heard) lost++
          ready()
        })
        waiters.push(socket)
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  say({ waiting: count - lost })
}

function post(path, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, url), { method: 'POST', agent }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(JSON.parse(text)))
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(body))
  })
}

/** Two owners hand one lock to one another; says how long each hand-over took, from the release to the event. */
async function handOvers(count) {
  const key = { operation: 'lock', resource: 'calm' }
  const events = { a: () => {}, b: () => {} }
  const sockets = []
  for (const owner of Object.keys(events)) {
    let seen = 0
    await new Promise((open) => {
      const socket = listen(`/v1/events?resource=calm&operation=lock&owner=${owner}`, (text) => {
        if (text.includes('event: state')) open()
        const now = text.split('"handOver":true').length - 1
        if (now > seen) events[owner]()
        seen = now
      })
      sockets.push(socket)
    })
  }
  let { fence } = await post('/v1/acquire', { ...key, node: 'a' })
  let [holder, waiter] = ['a', 'b']
  const times = []
  for (let turn = 0; turn < count; turn++) {
    await post('/v1/acquire', { ...key, node: waiter })
    const handed = new Promise((resolve) => {
      events[waiter] = resolve
    })
    const startMs = performance.now()
    await post('/v1/release', { ...key, owner: holder, fence, outcome: 'success' })
    await handed
    times.push(performance.now() - startMs)
    fence = (await post('/v1/acquire', { ...key, node: waiter })).fence
    ;[holder, waiter] = [waiter, holder]
  }
  await post('/v1/release', { ...key, owner: holder, fence, outcome: 'success' })
  for (const socket of sockets) socket.destroy()
  times.sort((a, b) => a - b)
  say({ p50: times[Math.floor(count * 0.5)], p95: times[Math.floor(count * 0.95)], max: times.at(-1) })
}

const orders = {
  wait,
  handOvers,
  leave: () => {
    for (const socket of waiters) socket.destroy()
    say({ left: waiters.length })
  },
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const [order, count] = line.split(' ')
  void orders[order](Number(count))
})
