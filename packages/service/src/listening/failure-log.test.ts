import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { expect, onTestFinished, test } from 'vitest'
import { type LogFields, logTo } from '../log.ts'
import { Service } from '../service.ts'

function newWorld() {
  const clock = new SimulatedClock()
  const lines: { level: string; message: string; fields: LogFields }[] = []
  const log = logTo((level, message, fields) => lines.push({ level, message, fields }))
  const service = new Service({ store: openMemoryStore({ clock }), timers: clock, log })
  onTestFinished(() => service.close())
  const work = async (resource: string, outcome: object) => {
    const place = { namespace: 'default', operation: 'lock', resource, node: 'a', owner: 'a', hold: 'h' } as const
    const reply = await service.call({ type: 'acquire', ...place, ttlMs: 30_000 })
    const fence = reply.status === 'granted' ? reply.fence : 0
    await service.call({ type: 'release', ...place, fence, ...outcome } as never)
    await settled()
  }
  return { clock, lines, service, work }
}

test('a failure is logged with its error, at the default level; other ends are not', async () => {
  const { lines, work } = newWorld()
  await work('r', { outcome: 'failure', error: 'disk full' })
  await work('s', { outcome: 'failure', error: `bad digest ${'x'.repeat(1_000)}`, permanent: true })
  await work('t', { outcome: 'success' })
  await work('u', { outcome: 'cancelled' })
  const fields = { namespace: 'default', operation: 'lock', node: 'a', fence: 1, attempt: 1, heldMs: 0 }
  expect(lines).toEqual([
    { level: 'info', message: 'work failed', fields: { ...fields, resource: 'r', error: 'disk full' } },
    {
      level: 'info',
      message: 'work failed',
      fields: { ...fields, resource: 's', error: `bad digest ${'x'.repeat(489)}`, permanent: true },
    },
  ])
})

test('ten failures are logged in ten seconds, and the others counted', async () => {
  const { clock, lines, work, service } = newWorld()
  for (let count = 0; count < 25; count++) await work(`r${count}`, { outcome: 'failure', error: 'no' })
  expect(lines).toHaveLength(10)
  await clock.advance(10_000)
  expect(lines[10]).toEqual({ level: 'info', message: 'more work failed', fields: { count: 15 } })
  for (let count = 0; count < 11; count++) await work(`s${count}`, { outcome: 'failure', error: 'no' })
  expect(lines).toHaveLength(21)
  await service.close()
  expect(lines.at(-1)).toMatchObject({ message: 'more work failed', fields: { count: 1 } })
})
