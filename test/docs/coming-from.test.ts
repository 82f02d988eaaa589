import { type Baton, open } from 'baton-lock'
import { expect, onTestFinished, test } from 'vitest'
import { readPage } from './page.ts'

/* The JavaScript of docs/coming-from.md that uses Baton, as it stands there. Its shell lines: test/e2e/page-commands.test.ts. */

const blocks = readPage('docs/coming-from.md').blocks.filter(({ language }) => language === 'js')
const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<unknown>

async function withBaton(): Promise<Baton> {
  const baton = await open('memory:')
  onTestFinished(() => baton.close())
  return baton
}

/** Runs the block below a heading, with what it calls. */
function run(heading: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const [block, ...more] = blocks.filter((each) => each.heading === heading)
  expect(more).toEqual([])
  return new AsyncFunction(...Object.keys(names), block!.text)(...Object.values(names))
}

test('redlock: one transfer after another, and who waits for too long is told', async () => {
  const baton = await withBaton()
  const did: string[] = []
  const transfer = async ({ fence }: { fence: number }) => {
    did.push(`begin ${fence}`)
    await new Promise((resolve) => setImmediate(resolve))
    did.push(`end ${fence}`)
  }
  await Promise.all([1, 2].map(() => run('redlock', { baton, transfer })))
  expect(did).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2'])
  await using lock = await baton.lock('account:7')
  await expect(baton.lock('account:7', () => {}, { waitMs: 0 })).rejects.toMatchObject({ code: 'busy' })
  await expect(baton.lock('account:7', () => {}, { waitMs: 10 })).rejects.toMatchObject({ code: 'wait-over' })
  expect(lock.signal.aborted).toBe(false)
})

test('verrou: who finds it taken does not wait', async () => {
  const baton = await withBaton()
  let reports = 0
  const said: string[] = []
  const names = {
    baton,
    console: { log: (text: string) => said.push(text) },
    writeReport: async () => {
      reports++
      expect((await baton.status('report')).grants.length > 0).toBe(true)
      await run('verrou', { ...names, writeReport: async () => reports++ })
    },
  }
  await run('verrou', names)
  expect([reports, said]).toEqual([1, ['somebody writes it already']])
  expect((await baton.status('report')).grants).toEqual([])
  const lock = await baton.lock('report')
  await baton.revoke('lock', 'report')
  await expect.poll(() => lock.signal.aborted).toBe(true)
})

test('etcd: one leads until it is told to stop, and the other one follows', async () => {
  const baton = await withBaton()
  const leaders: number[] = []
  const lead = () => {
    const stop = new AbortController()
    const tick = async ({ fence }: { fence: number }) => {
      leaders.push(fence)
      stop.abort()
    }
    return run('etcd', { baton, stop, tick })
  }
  await Promise.all([lead(), lead()])
  expect(leaders).toEqual([1, 2])
})

test('every block is run', () => {
  expect(blocks.map(({ heading }) => heading)).toEqual(['redlock', 'verrou', 'etcd'])
})
