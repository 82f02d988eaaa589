import { readFileSync } from 'node:fs'
import { type Baton, open } from 'baton-lock'
import { expect, onTestFinished, test } from 'vitest'

/* Every recipe of README.md is run as it stands, by three who want the same. */

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** The JavaScript below a heading. */
function recipe(heading: string): string {
  const [, section = ''] = readme.split(`\n### ${heading}\n`)
  const code = /^```js\n(.*?)^```/ms.exec(section.split('\n### ')[0]!)?.[1]
  if (code === undefined) throw new Error(`README.md has no recipe '${heading}'`)
  const lines = code.trimEnd().split('\n').length
  expect(lines).toBeLessThanOrEqual(8)
  return code
}

type Names = Readonly<Record<string, unknown>>
const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<unknown>

async function three(heading: string, names: Names): Promise<{ baton: Baton; results: unknown[] }> {
  const baton = await open('memory:')
  onTestFinished(() => baton.close())
  const script = new AsyncFunction('baton', ...Object.keys(names), recipe(heading))
  const results = await Promise.all([1, 2, 3].map(() => script(baton, ...Object.values(names))))
  return { baton, results }
}

test('a nightly job, once in the cluster', async () => {
  let reports = 0
  const said: unknown[][] = []
  const console = { log: (...words: unknown[]) => said.push(words) }
  const { baton } = await three('A nightly job, once in the cluster', { report: () => ++reports, console })
  expect(reports).toBe(1)
  expect(said.map(([status]) => status).sort()).toEqual(['performed', 'skipped', 'skipped'])
  expect(new Set(said.map(([, by]) => by))).toEqual(new Set([baton.node]))
  const { kept } = await baton.status('nightly')
  const leftMs = kept[0]!.untilMs - kept[0]!.atMs
  expect(leftMs).toBeLessThanOrEqual(20 * 3_600_000)
  expect(leftMs).toBeGreaterThan(20 * 3_600_000 - 10_000)
})

test('a cache without a stampede', async () => {
  let renders = 0
  const render = async (url: string) => `${url} ${++renders}`
  const { results } = await three('A cache without a stampede', { url: '/home', render })
  expect(results).toEqual(['/home 1', '/home 1', '/home 1'])
})

test('a cache without a stampede: the one that renders gets its own object, the others the JSON of it', async () => {
  expect(readme).toMatch(/gets its own\s+object, the others the JSON of it: a `Date` is a text there/)
  const own = { at: new Date(0) }
  const { results } = await three('A cache without a stampede', { url: '/home', render: () => own })
  const [performed, ...told] = results.sort((a, b) => Number(b === own) - Number(a === own))
  expect(performed).toBe(own)
  expect(told).toEqual([{ at: '1970-01-01T00:00:00.000Z' }, { at: '1970-01-01T00:00:00.000Z' }])
})

test('a leader with a standby', async () => {
  const ticks: number[] = []
  let left = 5
  const tick = async ({ fence }: { fence: number }) => {
    ticks.push(fence)
    if (--left === 0) {
      left = 5
      throw new Error('this leader dies')
    }
  }
  const baton = await open('memory:')
  onTestFinished(() => baton.close())
  const signals: string[] = []
  const process = { once: (signal: string) => signals.push(signal) }
  const script = new AsyncFunction('baton', 'tick', 'process', recipe('A leader with a standby'))
  const ends = await Promise.allSettled([1, 2, 3].map(() => script(baton, tick, process)))
  expect(signals).toEqual(['SIGTERM', 'SIGTERM', 'SIGTERM'])
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(ticks).toEqual([1, 2, 3].flatMap((fence) => Array(5).fill(fence)))
})

test('a leader with a standby: each ends normally when it is told to stop', async () => {
  const baton = await open('memory:')
  onTestFinished(() => baton.close())
  const stops: (() => void)[] = []
  const process = { once: (_: string, stop: () => void) => stops.push(stop) }
  const tick = () => new Promise((resolve) => setImmediate(resolve))
  const script = new AsyncFunction('baton', 'tick', 'process', recipe('A leader with a standby'))
  const ends = [1, 2].map(() => script(baton, tick, process))
  while ((await baton.status('scheduler')).waiting === 0) await tick()
  for (const [index, stop] of [...stops.entries()].reverse()) {
    stop()
    expect(await ends[index]).toBeUndefined()
  }
  expect(await baton.leader('scheduler')).toBeUndefined()
})

test('a migration, once a release', async () => {
  const did: string[] = []
  const migrate = async (release: string) => {
    await new Promise((resolve) => setImmediate(resolve))
    did.push(`migrated ${release}`)
  }
  await three('A migration, once a release', { migrate, serve: () => did.push('serves') })
  expect(did).toEqual(['migrated v42', 'serves', 'serves', 'serves'])
})

test('a layer, pulled once', async () => {
  const layers = new Set<string>()
  let fetches = 0
  const names = {
    digest: 'sha256:9f86d0',
    fetchLayer: async (digest: string, signal: AbortSignal) => {
      expect(signal.aborted).toBe(false)
      fetches++
      layers.add(digest)
    },
    exists: (digest: string) => layers.has(digest),
  }
  const { baton } = await three('A layer, pulled once', names)
  expect(fetches).toBe(1)
  expect(await baton.references.list('sha256:9f86d0', { namespace: 'content' })).toEqual([baton.node])
})

test('a plain lock', async () => {
  const did: string[] = []
  const book = async ({ fence }: { fence: number }) => {
    did.push(`enter ${fence}`)
    await new Promise((resolve) => setImmediate(resolve))
    did.push(`leave ${fence}`)
  }
  await three('A plain lock', { book })
  expect(did).toEqual(['enter 1', 'leave 1', 'enter 2', 'leave 2', 'enter 3', 'leave 3'])
})
