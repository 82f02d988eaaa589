import { closeSync, openSync, readSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import type { Command } from '@baton-lock/core'
import type { HistoryRecord } from '@baton-lock/faults/history/history'
import { seededRandom } from '@baton-lock/store/conformance'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest, openFolder, startServer, type TestServer } from './cli-process.ts'
import { drawRequest, type FuzzRequest } from './fuzz-input.ts'
import { fuzzSocket, openHalf, type RawAnswer } from './fuzz-raw.ts'

/** FUZZ_ROUNDS=100000 for the night; FUZZ_SEED for another draw. */
const ROUNDS = Number(process.env.FUZZ_ROUNDS ?? 8_000)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
/** Statuses that say that the request was no good, as against one that met a state that it did not expect. */
const BAD = new Set([400, 404, 405, 408, 413, 414, 415, 417, 431])
const STACK = /\n\s+at |node:internal|[\w/]+\.[jt]s:\d+|\/node_modules\//

const folder = openFolder()
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let server: TestServer
let port: number
let half: Promise<string>[]

beforeAll(async () => {
  server = await startServer([], { BATON_HISTORY: folder.path('history.jsonl') })
  port = Number(new URL(server.url).port)
  half = openHalf(port, 30)
})

afterAll(async () => {
  await server.stop()
  agent.destroy()
  folder.remove()
  killRest()
})

interface Answer {
  readonly status: number
  readonly text: string
}

function send({ method, path, headers, body }: FuzzRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, agent, headers }
    const outgoing = httpRequest({ ...options, headers: { ...headers, 'content-length': Buffer.byteLength(body) } })
    outgoing.on('error', reject)
    outgoing.on('upgrade', (_, socket) => socket.destroy())
    outgoing.on('response', (response) => {
      const status = response.statusCode ?? 0
      let text = ''
      const over = () => resolve({ status, text })
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', over)
      response.on('error', over)
      // A stream goes on for ever.
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        outgoing.destroy()
        over()
      }
    })
    outgoing.end(body)
  })
}

/** What the server's store has done since it was last looked at, but for what time alone does. */
function newsOf(path: string) {
  const file = openSync(path, 'r')
  const buffer = Buffer.alloc(1 << 20)
  let unfinished = ''
  return {
    read(): HistoryRecord[] {
      for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer))
        unfinished += buffer.toString('utf8', 0, length)
      const lines = unfinished.split('\n')
      unfinished = lines.pop() ?? ''
      const records = lines.map((line) => JSON.parse(line) as HistoryRecord)
      return records.filter((each) => (each.kind === 'step' ? !happensByItself(each.command) : each.kind === 'session'))
    },
    close: () => closeSync(file),
  }
}

/** What time brings, and what a stream that names an ask does for it as it comes and goes. */
function happensByItself(command: Command): boolean {
  if (command.type === 'renew') return command.fence === undefined
  return command.type === 'expire' || command.type === 'session-lost'
}

async function get(path: string): Promise<unknown> {
  return (await fetch(server.url + path)).json()
}

async function expectHealthy(): Promise<void> {
  expect(server.process.stderr()).not.toContain('internal error')
  expect(await get('/healthz')).toEqual({ status: 'ok' })
}

test(`${ROUNDS} requests with something wrong about them (seed ${SEED}): never a 5xx, no stack, and bad input does nothing`, async () => {
  const random = seededRandom(SEED)
  const news = newsOf(folder.path('history.jsonl'))
  const statuses = new Map<number, number>()
  const before = await get('/v1/policy')
  for (let round = 0; round < ROUNDS; round++) {
    const request = drawRequest(random)
    const tale = () => `round ${round}: ${JSON.stringify({ ...request, body: String(request.body).slice(0, 500) })}`
    const { status, text } = await send(request).catch((error) => {
      throw new Error(`${error} ${tale()}`)
    })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const done = news.read()
    if (status >= 500 || status < 200 || STACK.test(text)) expect.unreachable(`${status} ${text} ${tale()}`)
    if (BAD.has(status) && done.length > 0) expect.unreachable(`${status} but ${JSON.stringify(done)} ${tale()}`)
  }
  news.close()
  // A run that met only one kind of answer has shown little.
  for (const status of [200, 400, 403, 404, 405, 409, 413]) expect(statuses.get(status), `${status}`).toBeGreaterThan(0)
  expect(await get('/v1/policy')).toEqual(before)
  await expectHealthy()
}, 3_600_000)

test(`raw sockets (seed ${SEED}): bad request lines, floods, lying lengths and chunks, pipelines, resets`, async () => {
  const random = seededRandom(SEED + 1)
  const news = newsOf(folder.path('history.jsonl'))
  news.read()
  const check = ({ sent, text }: RawAnswer) => {
    const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
    if (statuses.some((status) => status >= 500) || STACK.test(text)) expect.unreachable(`${text} to ${sent}`)
    return statuses
  }
  const seen = new Set<number>()
  for (let round = 0; round < ROUNDS / 10; round += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => fuzzSocket(port, random)))
    for (const status of answers.flatMap(check)) seen.add(status)
    const done = news.read()
    if (done.length > 0) expect.unreachable(`${JSON.stringify(done)} by one of ${JSON.stringify(answers)}`)
  }
  news.close()
  for (const status of [200, 400, 404, 431]) expect(seen).toContain(status)
  // What all of them would have asked for, had they been good.
  expect(await get('/v1/resources?prefix=raw')).toMatchObject({ status: 'resources', resources: [] })
  await expectHealthy()
}, 3_600_000)

test('a request that never ends is answered 408 or closed, and holds nothing up', async () => {
  for (const text of await Promise.all(half)) expect(text).toMatch(/^$|^HTTP\/1\.1 408 /)
  await expectHealthy()
}, 60_000)
