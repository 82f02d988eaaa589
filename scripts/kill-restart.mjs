// Kills a server on a file store at random moments, again and again, under load from eight clients, and checks that every
// change that was acknowledged is there afterwards: `node scripts/kill-restart.mjs --kills 200` (after `npm run build`).
// Prints a line of JSON at the end; exits with 1 if anything was lost.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, URL } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { kills: { type: 'string' }, seconds: { type: 'string' }, clients: { type: 'string', default: '8' } },
})
const KILLS = Number(values.kills ?? Infinity)
const END = Date.now() + Number(values.seconds ?? 100_000) * 1_000
const CLIENTS = Number(values.clients)
const TTL_MS = 20_000
const LIFE_MS = 1_500
const KEYS = 6

const main = fileURLToPath(new URL('../packages/baton-lock/dist/main.js', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'baton-kill-'))
const failures = []
const counts = { kills: 0, acknowledged: 0, unanswered: 0, fences: 0, outcomes: 0, references: 0, checks: 0 }
const agent = new Agent({ keepAlive: true })
let server
let port = 0
let isOver = false

const fail = (what) => {
  failures.push(what)
  console.error(`FAILED: ${what}`)
}

async function start() {
  const args = [main, 'serve', '--port', String(port), '--store', `file:${directory}`]
  server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let complaint = ''
  server.stderr.on('data', (text) => {
    complaint += text
  })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  const line = await Promise.race([new Promise((resolve) => server.stdout.once('data', resolve)), ended])
  const listening = /:(\d+)\n/.exec(String(line))
  if (!listening) throw new Error(`the server did not start: ${complaint}`)
  port = Number(listening[1])
  return { ended }
}

function send(path, body) {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const headers = { 'content-type': 'application/json' }
    const outgoing = request({ host: '127.0.0.1', port, path, method, agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => (response.complete ? resolve(JSON.parse(text)) : reject(new Error('cut off'))))
      response.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body && JSON.stringify(body))
  })
}

/** Asks until it is answered: every request here may be repeated. */
async function ask(path, body) {
  for (;;) {
    try {
      const reply = await send(path, body)
      if (reply.code !== 'store-unavailable') {
        counts.acknowledged++
        return reply
      }
    } catch {
      counts.unanswered++
    }
    await pause(20)
  }
}

const highest = new Map()
const outcomes = []
const references = new Map()

/** A key that all clients fight over: fences rise with every grant of it, and nobody else holds it meanwhile. */
async function lock(client, count) {
  const resource = `key-${Math.floor(Math.random() * KEYS)}`
  const asker = { operation: 'lock', resource, owner: client, hold: `${client}-${count}` }
  const reply = await ask('/v1/acquire', { ...asker, node: client, session: `session-${client}`, waitMs: 0 })
  if (reply.status !== 'granted') return
  if (reply.fence <= (highest.get(resource) ?? 0)) {
    fail(`${resource} was granted with fence ${reply.fence} after ${highest.get(resource)}`)
  }
  highest.set(resource, reply.fence)
  counts.fences++
  const again = await ask('/v1/acquire', { ...asker, node: client, session: `session-${client}`, waitMs: 0 })
  if (again.fence !== reply.fence) fail(`the same ask had fence ${reply.fence}, then ${JSON.stringify(again)}`)
  const released = await ask('/v1/release', { ...asker, fence: reply.fence, outcome: 'success' })
  if (released.status !== 'released') fail(`${resource} fence ${reply.fence}: ${JSON.stringify(released)}`)
}

/** Work that is done once: from the acknowledged success on, everybody skips on it. */
async function pull(client, count) {
  const resource = `layer-${client}-${count}`
  const asker = { operation: 'pull', resource, owner: client, hold: '1' }
  const { fence } = await ask('/v1/acquire', { ...asker, node: client, ttlMs: TTL_MS, reference: false })
  const result = { count }
  const reply = await ask('/v1/release', { ...asker, fence, outcome: 'success', result })
  if (reply.status !== 'released') fail(`${resource}: ${JSON.stringify(reply)}`)
  outcomes.push({ resource, fence, result })
  counts.outcomes++
}

async function refer(client, count) {
  const resource = `used-${Math.floor(Math.random() * KEYS)}`
  const node = `${client}-${count}`
  await ask('/v1/references/add', { resource, node })
  references.set(resource, (references.get(resource) ?? new Set()).add(node))
  counts.references++
}

async function checkOutcome({ resource, fence, result }) {
  const ask_ = { operation: 'pull', resource, node: 'checker', owner: 'checker', hold: 'check', reference: false }
  const reply = await ask('/v1/acquire', ask_)
  counts.checks++
  if (reply.status === 'skip' && reply.fence === fence && reply.result?.count === result.count) return
  fail(`the success of ${resource} with fence ${fence} is gone: ${JSON.stringify(reply)}`)
}

async function checkReferences() {
  for (const [resource, nodes] of references) {
    const known = [...nodes]
    const reply = await ask(`/v1/resource?resource=${resource}`)
    const found = new Set(reply.resource.references)
    for (const node of known) if (!found.has(node)) fail(`the reference of ${node} to ${resource} is gone`)
    counts.checks++
  }
}

async function checkStanding(client, fence) {
  const session = `session-${client}`
  const renewed = await ask('/v1/sessions/renew', { session })
  if (renewed.status !== 'alive') fail(`${session}: ${JSON.stringify(renewed)}`)
  const { resource } = await ask(`/v1/resource?resource=held-${client}`)
  const [grant] = resource.grants
  if (grant?.owner !== client || grant.fence !== fence) fail(`${client} lost its grant: ${JSON.stringify(resource)}`)
  if (resource.waiters[0]?.owner !== `${client}-waiter`) fail(`${client}-waiter lost its place`)
  counts.checks++
}

async function live(client) {
  const session = `session-${client}`
  await ask('/v1/sessions/open', { session, node: client, ttlMs: TTL_MS })
  // Held from the first to the last moment, and waited for: both must stand through all restarts.
  const held = { operation: 'lock', resource: `held-${client}`, node: client, hold: '1', session }
  const { fence } = await ask('/v1/acquire', { ...held, owner: client })
  await ask('/v1/acquire', { ...held, owner: `${client}-waiter` })
  let kills = 0
  for (let count = 1; !isOver; count++) {
    const work = [lock, pull, refer][count % 3]
    await work(client, count)
    if (count % 20 === 0) await checkStanding(client, fence)
    if (kills < counts.kills) {
      kills = counts.kills
      await checkStanding(client, fence)
      for (const outcome of outcomes.slice(-20)) await checkOutcome(outcome)
    }
  }
}

async function killAgainAndAgain() {
  let { ended } = await start()
  const clients = Array.from({ length: CLIENTS }, (_, index) => live(`client-${index}`))
  while (counts.kills < KILLS && Date.now() < END && failures.length < 20) {
    await pause(50 + Math.random() * LIFE_MS)
    server.kill('SIGKILL')
    await ended
    counts.kills++
    ;({ ended } = await start())
  }
  isOver = true
  await Promise.all(clients)
}

try {
  await killAgainAndAgain()
  const kept = outcomes.slice()
  for (let from = 0; from < kept.length; from += 50) await Promise.all(kept.slice(from, from + 50).map(checkOutcome))
  await checkReferences()
  for (let index = 0; index < CLIENTS; index++) await ask('/v1/sessions/close', { session: `session-client-${index}` })
  // Nobody is left: no key may be stuck.
  for (const resource of [...Array.from({ length: KEYS }, (_, index) => `key-${index}`), 'held-client-0']) {
    const reply = await ask('/v1/acquire', { operation: 'lock', resource, node: 'last', hold: 'last', waitMs: 0 })
    if (reply.status !== 'granted') fail(`${resource} is stuck: ${JSON.stringify(reply)}`)
    if (reply.fence <= (highest.get(resource) ?? 0)) fail(`${resource} ended with fence ${reply.fence}`)
  }
} catch (error) {
  fail(error.stack)
} finally {
  server.kill('SIGKILL')
  rmSync(directory, { recursive: true })
}
console.log(JSON.stringify({ ...counts, failures: failures.length }))
process.exit(failures.length === 0 ? 0 : 1)
