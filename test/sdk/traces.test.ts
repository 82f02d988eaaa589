import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Client } from '../../src/client/client.ts'
import { systemClientClock } from '../../src/client/clock.ts'
import { httpTransport } from '../../src/client/http-transport.ts'
import { type Baton, connect, open, type Tracer } from '../../src/client/index.ts'
import { systemRandom } from '../../src/client/random.ts'
import { buildApp, listen } from '../../src/server/index.ts'
import { Service, systemClock } from '../../src/service/index.ts'
import { openMemoryStore } from '../../src/stores/memory/index.ts'
import { work } from '../../src/testing/unit/client-world.ts'
import { idOf, linkedFrom, recordedSpans } from '../../src/testing/unit/recorded-spans.ts'

/** A real server on a real socket. It goes with the test. */
async function newServer(): Promise<string> {
  const clock = systemClock()
  const service = new Service({ store: openMemoryStore({ clock }) })
  const app = buildApp({ service })
  onTestFinished(async () => {
    await app.close()
    await service.close()
    clock.stop()
  })
  return listen(app, { port: 0 })
}

type NewClient = (url: string, options: { node: string; tracer: Tracer }) => Promise<Baton>

const ways: readonly [way: string, newClient: NewClient][] = [
  ['one stream', connect],
  [
    'HTTP and SSE',
    async (url, { tracer, ...options }) => {
      const clock = systemClientClock()
      const environment = { clock, random: systemRandom, notice: () => {}, findTracer: () => tracer }
      const transport = httpTransport({ bases: [new URL(url)], clock, notice: () => {} })
      return new Client(transport, environment, options)
    },
  ],
]

test.each(ways)(
  'over %s: who skips, and who tries again, is linked to the work of another client',
  async (_, client) => {
    const url = await newServer()
    const spans = recordedSpans()
    const clients = await Promise.all(['a', 'b', 'c'].map((node) => client(url, { node, tracer: spans.tracer })))
    onTestFinished(async () => void (await Promise.all(clients.map((each) => each.close()))))
    const [a, b, c] = clients as [Baton, Baton, Baton]
    const failing = work()
    const first = a.once('r', () => failing.done).catch((error: Error) => error.message)
    while ((await a.status('r')).grants.length === 0);
    const retried = work()
    const second = b.once('r', () => retried.done, { keepMs: 60_000 })
    while ((await a.status('r')).waiting < 1);
    const third = c.once('r', () => {})
    while ((await a.status('r')).waiting < 2);
    failing.fail(new Error('boom'))
    expect(await first).toBe('boom')
    while ((await b.status('r')).waiting > 1);
    retried.finish()
    expect([(await second).status, (await third).status, (await a.once('r', () => {})).status]).toEqual([
      'performed',
      'skipped',
      'skipped',
    ])
    const [failed, performed] = spans.ended('baton work once')
    expect(linkedFrom(performed!)).toEqual([idOf(failed!)])
    const skips = spans.ended('baton ask once').filter(({ attributes }) => attributes['baton.status'] === 'skipped')
    expect(skips.map(linkedFrom)).toEqual([[idOf(performed!)], [idOf(performed!)]])
  },
)

test('in process, over a file store that was closed and opened again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-traces-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { tracer, ended } = recordedSpans()
  for (const status of ['performed', 'skipped', 'skipped']) {
    const baton = await open(`file:${folder}`, { node: 'a', tracer })
    expect(await baton.once('r', () => 'page', { keepMs: 60_000 })).toMatchObject({ status, result: 'page' })
    await baton.close()
  }
  const [performed] = ended('baton work once')
  expect(ended('baton ask once').map(linkedFrom)).toEqual([[], [idOf(performed!)], [idOf(performed!)]])
})
