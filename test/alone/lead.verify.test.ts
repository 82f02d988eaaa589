import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { FencedResource } from '@baton-lock/testing/fenced-resource'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { killRest, openFolder, startProgram, startServer, type TestServer, until } from '../e2e/cli-process.ts'

const PROGRAM = fileURLToPath(new URL('./leader-process.mjs', import.meta.url))
const TTL_MS = 2_000
const GRACE_MS = 500

interface Line {
  readonly node: string
  readonly atMs: number
  readonly what: 'stands' | 'leads' | 'wrote' | 'refused' | 'stopped'
  readonly fence: number
  readonly isLive?: boolean
}

let server: TestServer
const folder = openFolder()

beforeAll(async () => {
  server = await startServer(['--store', `file:${folder.path('store')}`])
})
afterAll(async () => {
  await server.stop()
  killRest()
  folder.remove()
})

/** The reference resource: it refuses what comes with a fence that is lower than one that it has seen. */
async function fencedStorage() {
  const resource = new FencedResource()
  const taken: { node: string; fence: number; atMs: number }[] = []
  const storage = createServer(async (request, response) => {
    const { node, fence } = (await json(request)) as { node: string; fence: number }
    const accepted = resource.write('boss', fence)
    if (accepted) taken.push({ node, fence, atMs: Date.now() })
    response.end(JSON.stringify({ accepted }))
  })
  storage.listen(0, '127.0.0.1')
  await once(storage, 'listening')
  onTestFinished(() => void storage.close())
  return { url: `http://127.0.0.1:${(storage.address() as AddressInfo).port}`, taken }
}

function candidate(node: string, storage: string) {
  const lines: Line[] = []
  const onLine = (line: string) => void lines.push(JSON.parse(line))
  const running = startProgram(process.execPath, [PROGRAM, server.url, node, storage], { onLine })
  onTestFinished(() => running.kill('SIGKILL'))
  return { node, lines, kill: (signal: NodeJS.Signals) => running.kill(signal) }
}

type Candidate = ReturnType<typeof candidate>
const has = ({ lines }: Candidate, what: Line['what']) => lines.some((line) => line.what === what)

/** Three of them: the first leads, the others stand by, in this order. */
async function three() {
  const storage = await fencedStorage()
  const all: Candidate[] = []
  for (const name of ['a', 'b', 'c']) {
    const next = candidate(name, storage.url)
    all.push(next)
    await until(`${name} leads or stands by`, () => has(next, all.length === 1 ? 'wrote' : 'stands'))
  }
  const [a, b, c] = all as [Candidate, Candidate, Candidate]
  return { a, b, c, storage }
}

/** How long it took until the next one led, for the log of the run. */
function took(next: Candidate, sinceMs: number, after: string): number {
  const tookMs = next.lines.find(({ what }) => what === 'leads')!.atMs - sinceMs
  console.log(`a new leader ${tookMs} ms after ${after}`)
  return tookMs
}

/** Nobody whose signal was live has written after somebody with a higher fence had begun. */
function expectOneAtATime(running: readonly Candidate[]) {
  const lines = running.flatMap(({ lines }) => lines).sort((one, other) => one.atMs - other.atMs)
  let highest = 0
  for (const { what, fence, isLive } of lines) {
    if (what === 'leads') highest = Math.max(highest, fence)
    if (isLive) expect(fence).toBe(highest)
  }
}

test('a leader that is asked to end hands over within half a second', async () => {
  const { a, b, c } = await three()
  const atMs = Date.now()
  a.kill('SIGTERM')
  await until('b leads', () => has(b, 'leads'))
  expect(took(b, atMs, 'SIGTERM')).toBeLessThan(GRACE_MS)
  expectOneAtATime([a, b, c])
})

test('a leader that is killed is followed within its ttl and half a second', async () => {
  const { a, b, c } = await three()
  const atMs = Date.now()
  a.kill('SIGKILL')
  await until('b leads', () => has(b, 'leads'))
  expect(took(b, atMs, 'kill -9')).toBeLessThan(TTL_MS + GRACE_MS)
  expectOneAtATime([a, b, c])
})

test('a leader that stands still is followed as soon, and what it writes when it wakes is refused; it stands again', async () => {
  const { a, b, c, storage } = await three()
  const atMs = Date.now()
  a.kill('SIGSTOP')
  await until('b leads', () => has(b, 'wrote'))
  expect(took(b, atMs, 'SIGSTOP')).toBeLessThan(TTL_MS + GRACE_MS)
  a.kill('SIGCONT')
  await until('a has noticed', () => has(a, 'stopped'))
  await until('a stands again', () => has(a, 'stands'))
  expectOneAtATime([b, c])
  const firstOfB = storage.taken.findIndex(({ node }) => node === 'b')
  expect(storage.taken.slice(firstOfB).filter(({ node }) => node === 'a')).toEqual([])
  b.kill('SIGTERM')
  await until('c leads, then a', () => has(c, 'leads'))
  c.kill('SIGTERM')
  await until('a leads again', () => a.lines.filter(({ what }) => what === 'leads').length === 2)
})
