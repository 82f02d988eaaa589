import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { type Baton, connect, open } from 'baton-lock'
import { expect, test, vi } from 'vitest'
import { until } from './cli-process.ts'
import { ExampleRuns, endWell, openDay } from './example-runs.ts'

const KEEP_MS = 2_000
const TTL_MS = 1_000

export interface Where {
  readonly runs: ExampleRuns
  readonly baton: Baton
}

/** A client of the test's own beside what it starts, in a namespace of their own. */
export async function withRuns(url: string, body: (where: Where) => Promise<void>): Promise<void> {
  const namespace = randomUUID()
  const runs = new ExampleRuns({ BATON_URL: url, BATON_NAMESPACE: namespace })
  const baton = await (url.startsWith('http') ? connect : open)(url, { node: 'test', namespace })
  try {
    await body({ runs, baton })
  } finally {
    await baton.close()
    runs.remove()
  }
}

/** What the examples have to do wherever they run: three processes each, counted by what they wrote down. */
export function exampleCases(url: () => string, { days = 2 } = {}): void {
  const dayNumbers = Array.from({ length: days }, (_, at) => at + 1)
  // Each starts six processes or more.
  vi.setConfig({ testTimeout: 60_000 })
  const on = (body: (where: Where) => Promise<void>) => () => withRuns(url(), body)

  test.concurrent(
    'nightly: of three processes one reports a day, and whoever comes later that day skips',
    on(async ({ baton, runs }) => {
      for (const day of dayNumbers) {
        const gate = await openDay(baton, { operation: 'once', resource: 'nightly' })
        const processes = runs.startThree('nightly', { KEEP_MS: `${KEEP_MS}` })
        await gate.begin(3)
        await until('somebody skips', () => runs.notes('skip').length > 2 * day - 2)
        const late = await baton.once('nightly', () => 'again')
        await endWell(processes)
        expect(runs.notes('report')).toHaveLength(day)
        expect(runs.notes('skip')).toHaveLength(2 * day)
        expect([late.status, late.by]).toEqual(['skipped', runs.notes('report').at(-1).node])
      }
    }),
  )

  test.concurrent(
    'cache fill: one load a day, and all three have the value',
    on(async ({ baton, runs }) => {
      for (const day of dayNumbers) {
        const gate = await openDay(baton, { operation: 'once', resource: 'prices' })
        const processes = runs.startThree('cache-fill', { KEEP_MS: `${KEEP_MS}`, CACHE: runs.path('cache') })
        await gate.begin(3)
        await endWell(processes)
        expect(runs.notes('load')).toHaveLength(day)
        expect(runs.notes('answer').map(({ bytes }) => bytes)).toEqual(Array(3 * day).fill(100))
        expect(runs.notes('read cache')).toEqual([])
      }
    }),
  )

  test.concurrent(
    'cache fill: of fifty asks in three processes for 17 KB one loads, 49 are told without a result',
    on(async ({ baton, runs }) => {
      await fiftyAsks({ baton, runs })
      expect(runs.notes('read cache')).toHaveLength(49)
    }),
  )

  test(
    // test/alone/lead.verify.test.ts measures how soon.
    'leader: a standby takes over from one that was killed, twice; a standby and the leader stop when told',
    on(async ({ baton, runs }) => {
      const standbys = new Map(
        ['a', 'b', 'c', 'd'].map((node) => [node, runs.start('leader', node, { TTL_MS: `${TTL_MS}` })]),
      )
      const leaderAfter = async (lastFence: number) => {
        const first = await until('somebody leads', () => runs.notes('tick').find(({ fence }) => fence > lastFence))
        const { node, fence } = first
        expect(await baton.leader('scheduler')).toMatchObject({ node, fence })
        const process = standbys.get(node)!
        standbys.delete(node)
        await until('the others stand by', async () => (await baton.waiters('scheduler')).length === standbys.size)
        return { fence, process }
      }

      let leader = await leaderAfter(0)
      for (let kills = 0; kills < 2; kills++) {
        leader.process.kill('SIGKILL')
        leader = await leaderAfter(leader.fence)
      }
      for (const process of [...standbys.values(), leader.process]) {
        process.kill('SIGTERM')
        await endWell([process])
      }
      expect(await baton.leader('scheduler')).toBeUndefined()
      const fences = runs.notes('tick').map(({ fence }) => fence)
      expect(fences).toEqual([...fences].sort((one, other) => one - other))
      expect(new Set(runs.notes('tick').map(({ node, fence }) => `${node} ${fence}`)).size).toBe(3)
    }),
  )

  test.concurrent(
    'migration: once a release, and nobody serves before it is done',
    on(async ({ baton, runs }) => {
      for (const release of dayNumbers.map((day) => `v${day}`)) {
        const gate = await openDay(baton, { operation: 'lock', resource: 'migrate' })
        const processes = runs.startThree('migrate', { RELEASE: release })
        await gate.begin(3)
        await endWell(processes)
        const late = await baton.once(`migrate:${release}`, () => 'again')
        const notes = runs.notes().filter((note) => note.release === release)
        expect(notes.map(({ did }) => did)).toEqual(['migrate', 'serve', 'serve', 'serve'])
        expect(notes.slice(1).map(({ migratedBy }) => migratedBy)).toEqual(Array(3).fill(notes[0].node))
        expect([late.status, late.by]).toEqual(['skipped', notes[0].node])
      }
    }),
  )

  test.concurrent(
    'layer pull: fetched once for three nodes which all use it, and again when it is gone',
    on(async ({ baton, runs }) => {
      const digest = 'sha256:9f86d0'
      const namespace = 'content'
      const layer = runs.path(digest)
      for (const day of dayNumbers) {
        const gate = await openDay(baton, { operation: 'pull', resource: digest, ask: { force: true, namespace } })
        const processes = runs.startThree('layer-pull', { LAYERS: runs.path('.') })
        await gate.begin(3)
        await endWell(processes)
        expect(runs.notes('fetch')).toHaveLength(day)
        expect([runs.notes('performed').length, runs.notes('skipped').length]).toEqual([day, 2 * day])
        expect([...(await baton.references.list(digest, { namespace }))].sort()).toEqual(['a', 'b', 'c'])
        expect(existsSync(layer)).toBe(true)
        rmSync(layer)
      }
    }),
  )

  test.concurrent(
    'lock: the critical sections of three processes never overlap, and none is left out',
    on(async ({ baton, runs }) => {
      for (const day of dayNumbers) {
        const gate = await openDay(baton, { operation: 'lock', resource: 'ledger' })
        const processes = runs.startThree('lock')
        await gate.begin(3)
        await endWell(processes)
        const seen = runs.notes().map(({ did, node, fence }) => `${did} ${node} ${fence}`)
        const entered = runs.notes('enter')
        expect(entered).toHaveLength(6 * day)
        expect(seen).toEqual(entered.flatMap(({ node, fence }) => [`enter ${node} ${fence}`, `leave ${node} ${fence}`]))
        expect(new Set(entered.map(({ fence }) => fence)).size).toBe(6 * day)
      }
    }),
  )
}

/** One of fifty who ask for 17 KB at the same moment loads it, and all fifty have it. */
export async function fiftyAsks({ baton, runs }: Where, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const bytes = 17 * 1024
  const gate = await openDay(baton, { operation: 'once', resource: 'prices' })
  const own = { BYTES: `${bytes}`, KEEP_MS: '0', CACHE: runs.path('cache'), ...env }
  const processes = ['17', '17', '16'].map((asks, index) =>
    runs.start('cache-fill', `n${index}`, { ...own, ASKS: asks }),
  )
  await gate.begin(50)
  await endWell(processes)
  expect(runs.notes('load')).toHaveLength(1)
  expect(runs.notes('answer').map((note) => note.bytes)).toEqual(Array(50).fill(bytes))
}
