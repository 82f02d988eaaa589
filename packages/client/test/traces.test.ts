import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { work } from '@baton-lock/test-support/client-world'
import { startRealServer } from '@baton-lock/test-support/real-server'
import { idOf, linkedFrom, recordedSpans } from '@baton-lock/test-support/recorded-spans'
import { type Baton, connect, open } from 'baton-lock'
import { expect, onTestFinished, test } from 'vitest'

test('who skips, and who tries again, is linked to the work of another client', async () => {
  const url = await startRealServer()
  const spans = recordedSpans()
  const clients = await Promise.all(['a', 'b', 'c'].map((node) => connect(url, { node, tracer: spans.tracer })))
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
})

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
