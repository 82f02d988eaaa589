import { type Random, seededRandom, settled } from '@baton-lock/store/conformance'
import { type Fate, newClientWorld, type TestClient } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import { BatonError, GrantLostError } from '../src/index.ts'

const SEEDS = Number(process.env.SDK_SEEDS ?? 30)
const CLIENTS = 4
const TASKS = 5
const FAULTY_MS = 90_000

interface Running {
  readonly fence: number
  readonly signal: AbortSignal
}

/** One client's part: several tasks, each doing its work some times, all on the same lock. */
async function task(
  client: TestClient,
  random: Random,
  seen: { running: Set<Running>; fences: number[]; log: string[] },
  clock: { nowMs(): number; after(ms: number, f: () => void): () => void },
) {
  const { baton } = client
  for (let turn = 0; turn < 3; turn++) {
    const options = random.chance(0.3) ? { waitMs: random.integer(20_000) } : {}
    const abort = new AbortController()
    if (random.chance(0.2)) clock.after(random.integer(20_000), () => abort.abort())
    let entered = 0
    const tookMs = random.integer(6_000)
    await baton
      .run(
        'lock',
        'l',
        async ({ fence, signal }) => {
          expect(++entered).toBe(1)
          for (const other of seen.running) {
            expect(other.signal.aborted, `${fence} while ${other.fence} runs and does not know`).toBe(true)
          }
          expect(fence).toBeGreaterThan(seen.fences.at(-1) ?? 0)
          seen.fences.push(fence)
          const me = { fence, signal }
          seen.running.add(me)
          await new Promise<void>((resolve) => clock.after(tookMs, resolve))
          seen.running.delete(me)
          if (random.chance(0.2)) throw new Error('failed')
        },
        { ...options, signal: abort.signal },
      )
      .then(
        () => seen.log.push('performed'),
        (error) => seen.log.push(codeOf(error, abort.signal)),
      )
  }
}

function faults(random: Random): () => Fate {
  return () => {
    const draw = random.next()
    if (draw < 0.1) return 'lose-request'
    if (draw < 0.2) return 'lose-reply'
    if (draw < 0.25) return 'refuse-connection'
    if (draw < 0.4) return { replyAfterMs: random.integer(3_000) }
    if (draw < 0.5) return { requestAfterMs: random.integer(8_000) }
    return 'pass'
  }
}

async function play(seed: number): Promise<string[]> {
  const random = seededRandom(seed)
  const { client, clock, service } = newClientWorld()
  const clients = Array.from({ length: CLIENTS }, (_, i) => client({ node: `n${i}`, ttlMs: 2_000 + 4_000 * i }))
  const seen = { running: new Set<Running>(), fences: [] as number[], log: [] as string[] }
  for (const { wire } of clients) wire.fate = faults(random)
  const tasks = clients.flatMap((each) => Array.from({ length: TASKS }, () => task(each, random, seen, clock)))
  let done = false
  const all = Promise.all(tasks).then(() => {
    done = true
  })
  for (let passedMs = 0; passedMs < FAULTY_MS && !done; passedMs += 1_000) {
    for (const { wire } of clients) {
      if (random.chance(0.1)) wire.cutStreams()
      wire.streams = !random.chance(0.2)
      if (random.chance(0.03)) wire.fate = () => 'refuse-connection'
      else if (random.chance(0.3)) wire.fate = faults(random)
    }
    await clock.advance(1_000)
  }
  for (const { wire } of clients) wire.comeBack()
  const unused = new Map<number, number>()
  for (let rounds = 0; rounds < 600 && !done; rounds++) {
    await clock.advance(1_000)
    const reply = await service.call({ type: 'get-resource', namespace: 'default', resource: 'l' })
    for (const { fence } of reply.status === 'resource' ? reply.resource.grants : []) {
      const isUsed = [...seen.running].some((running) => running.fence === fence)
      unused.set(fence, isUsed ? 0 : (unused.get(fence) ?? 0) + 1)
      expect(unused.get(fence), `seed ${seed}: nobody uses the grant of fence ${fence}`).toBeLessThan(20)
    }
  }
  expect(
    done,
    `seed ${seed}: somebody still waits: ${JSON.stringify(await service.call({ type: 'get-resource', namespace: 'default', resource: 'l' }))}`,
  ).toBe(true)
  await all
  // What was given up in the background is gone too, and the sessions have lapsed.
  await clock.advance(40_000)
  await settled()
  const { grants, waiters } = await service.counts()
  expect({ grants, waiters }, `seed ${seed}: ghosts`).toEqual({ grants: 0, waiters: 0 })
  return seen.log
}

test(`over ${SEEDS} seeds of lost, late and doubled messages: one runs at a time, nobody waits for ever, nothing is left behind`, async () => {
  const counts: Record<string, number> = {}
  for (let seed = 1; seed <= SEEDS; seed++) for (const what of await play(seed)) counts[what] = (counts[what] ?? 0) + 1
  // A run in which nothing of this happened has shown nothing.
  for (const what of ['performed', 'lost', 'failed', 'wait-over', 'aborted'])
    expect(counts[what], what).toBeGreaterThan(0)
  expect(Object.keys(counts).sort()).toEqual(['aborted', 'failed', 'lost', 'performed', 'unavailable', 'wait-over'])
}, 120_000)

function codeOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof GrantLostError) return 'lost'
  if (error === signal.reason) return 'aborted'
  return error instanceof BatonError ? error.code : (error as Error).message.slice(0, 60)
}
