import { completePolicy } from '@baton-lock/core'
import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, expectTypeOf, test } from 'vitest'
import type { Done } from '../api.ts'
import { FailedForGoodError, PermanentError, RefusedError } from '../errors.ts'

const digest = 'sha256:a'

test('ten that run the same work at once in one process: one performs, nine skip with its result', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  let runs = 0
  const job = work<{ bytes: number }>()
  const all = Array.from({ length: 10 }, () =>
    baton.run('pull', digest, () => {
      runs++
      return job.done
    }),
  )
  await settled()
  job.finish({ bytes: 7 })
  const done = await Promise.all(all)
  expect(runs).toBe(1)
  expect(done.filter(({ status }) => status === 'performed')).toHaveLength(1)
  expect(done.filter(({ status }) => status === 'skipped')).toHaveLength(9)
  for (const each of done) expect(each).toMatchObject({ result: { bytes: 7 }, by: 'a', fence: 1 })
})

test('clients of two nodes do the work once, and the one that waits is told within the same moment', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const job = work<string>()
  const first = a.baton.run('pull', digest, () => job.done)
  await settled()
  const second = b.baton.run('pull', digest, () => 'not me')
  await settled()
  const asked = b.wire.of('acquire').length
  job.finish('ok')
  expect(await first).toMatchObject({ status: 'performed', by: 'a', result: 'ok' })
  expect(await second).toMatchObject({ status: 'skipped', by: 'a', result: 'ok' })
  expect(b.wire.of('acquire')).toHaveLength(asked)
})

test('a failure passes the work to the next in line, who learns how it went', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const job = work()
  const failing = outcomeOf(a.baton.run('pull', digest, () => job.done))
  await settled()
  const next = b.baton.run('pull', digest, ({ attempt, previous, fence }) => ({
    attempt,
    previous: { node: previous?.node ?? '', error: previous?.error ?? '' },
    fence,
  }))
  await settled()
  const error = new Error('registry is down')
  job.fail(error)
  expect(await failing).toBe(error)
  expect(await next).toMatchObject({
    status: 'performed',
    result: { attempt: 2, fence: 2, previous: { node: 'a', error: 'registry is down' } },
  })
})

test.each([
  ['a PermanentError', new PermanentError('no such digest')],
  ['anything with permanent: true', Object.assign(new Error('no such digest'), { permanent: true })],
])('%s ends the queue: those who wait are told, and nobody tries again', async (_, error) => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const job = work()
  const failing = outcomeOf(a.baton.run('pull', digest, () => job.done))
  await settled()
  const waiting = outcomeOf(b.baton.run('pull', digest, () => expect.unreachable()))
  await settled()
  job.fail(error)
  expect(await failing).toBe(error)
  const told = await waiting
  expect(told).toBeInstanceOf(FailedForGoodError)
  expect(told).toMatchObject({ by: 'a', permanent: true, message: 'pull sha256:a: a failed for good: no such digest' })
})

test('an error text that is too long is cut, not refused', async () => {
  const world = newClientWorld()
  const { baton, wire } = world.client({ node: 'a' })
  const error = new Error('x'.repeat(10_000))
  expect(await outcomeOf(baton.run('lock', 'l', () => Promise.reject(error)))).toBe(error)
  expect(wire.of('release')[0]).toMatchObject({ outcome: 'failure', error: 'x'.repeat(4_096) })
  expect((await baton.status('l')).grants).toEqual([])
})

test.each([
  ['not JSON', 1n, /not JSON: .*BigInt/],
  [
    'larger than the server takes',
    'x'.repeat(17_000),
    /: it is 17002 bytes of JSON; raise the limit with `baton serve --result-limit`, .*`resultLimit` of `open`, or/,
  ],
  [
    'larger than any server takes',
    'x'.repeat(300_000),
    /is 300002 bytes of JSON, .* 262144; return where it is to be found$/,
  ],
])('a result that is %s: the work is a success all the same, told without it', async (_, result, notice) => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  expect(await a.baton.run('pull', digest, () => result)).toMatchObject({ status: 'performed', result })
  expect(await b.baton.run('pull', digest, () => expect.unreachable())).toMatchObject({
    status: 'skipped',
    result: undefined,
    resultOmitted: true,
  })
  expect(a.notices).toEqual([expect.stringMatching(notice)])
})

test('a result may be typed by an interface, with optional properties', async () => {
  interface Page {
    readonly html: string
    readonly etag?: string
  }
  const render = async (): Promise<Page> => ({ html: '<p>', etag: undefined })
  const { baton } = newClientWorld().client({ node: 'a' })
  const { result } = await baton.run('pull', digest, render)
  expect(result?.html).toBe('<p>')
  expect(await baton.run('pull', digest, render)).toMatchObject({ status: 'skipped', result: { html: '<p>' } })
})

test('force does it again, whatever is kept and whatever verify says', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  await baton.run('pull', digest, () => 1)
  const done = await baton.run('pull', digest, () => 2, { force: true, verify: () => true })
  expect(done).toMatchObject({ status: 'performed', result: 2, fence: 2 })
})

test('noEffect says that nothing was to be done: the success changes nothing', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const done = await baton.run('pull', digest, ({ noEffect }) => noEffect())
  expect(done.status).toBe('performed')
  const { kept, references } = await baton.status(digest)
  expect({ kept, references }).toEqual({ kept: [], references: [] })
})

test('a delete drops the own reference of the node first, unless it is told not to', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  await a.baton.run('pull', digest, () => undefined)
  await b.baton.run('pull', digest, () => undefined)
  const refused = await outcomeOf(a.baton.run('delete', digest, () => undefined))
  expect(refused).toBeInstanceOf(RefusedError)
  expect(refused).toMatchObject({
    code: 'in-use',
    message: expect.stringContaining('drops that of its own node even when it is refused'),
  })
  expect(await a.baton.references.list(digest)).toEqual(['b'])
  expect(await outcomeOf(b.baton.run('delete', digest, () => undefined, { dropReference: false }))).toMatchObject({
    code: 'in-use',
  })
  expect((await b.baton.run('delete', digest, () => undefined)).status).toBe('performed')
})

test('the holder of a delete sees who waits in all queues of the resource', async () => {
  const world = newClientWorld()
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const job = work()
  const started = work()
  const seen = a.baton.run('delete', digest, async ({ waiters }) => {
    started.finish()
    await job.done
    return (await waiters()).map(({ node, operation }) => ({ node, operation }))
  })
  await started.done
  const waiting = b.baton.run('delete', digest, () => undefined)
  await settled()
  job.finish()
  expect(await seen).toMatchObject({ result: [{ node: 'b', operation: 'delete' }] })
  expect((await waiting).status).toBe('skipped')
})

test('the holder of a delete sees all who wait, however many, and who holds other operations', async () => {
  const world = newClientWorld()
  const { baton, wire } = world.client({ node: 'a' })
  const place = { namespace: 'default', operation: 'delete', resource: digest, hold: 'h', ttlMs: 30_000 }
  const seen = await baton.run('delete', digest, async ({ waiters, holders }) => {
    for (let index = 0; index < 2_500; index++) {
      const node = `n${index}`
      await world.service.call({ type: 'acquire', ...place, node, owner: node })
    }
    await world.service.call({ type: 'acquire', ...place, operation: 'pull', node: 'p', owner: 'p' })
    const nodes = (await waiters()).map(({ node }) => node)
    const others = (await holders()).map(({ operation, node }) => `${operation} ${node}`)
    return { count: nodes.length, last: nodes.at(-1) ?? '', others }
  })
  expect(seen.result).toEqual({ count: 2_500, last: 'n2499', others: ['pull p'] })
  expect(wire.of('list-waiters')).toHaveLength(3)
})

test('those who wait are told how far it is, once a second at most, and the latest counts', async () => {
  const world = newClientWorld()
  const [a, b, c] = [world.client({ node: 'a' }), world.client({ node: 'b' }), world.client({ node: 'c' })]
  const job = work()
  let report = (_percent: number) => {}
  const running = a.baton.run('pull', digest, async ({ progress }) => {
    report = (percent) => progress({ percent })
    await job.done
  })
  await settled()
  const heard: unknown[] = []
  const waiting = b.baton.run('pull', digest, () => {}, { onProgress: (progress) => heard.push(progress) })
  await settled()
  for (let percent = 1; percent <= 12; percent++) {
    report(percent)
    await world.clock.advance(250)
  }
  await world.clock.advance(2_000)
  expect(heard).toEqual([{ percent: 1 }, { percent: 4 }, { percent: 8 }, { percent: 12 }])
  // Who comes later is told where things stand.
  const late: unknown[] = []
  const last = c.baton.run('pull', digest, () => {}, { onProgress: (progress) => late.push(progress) })
  await settled()
  expect(late).toEqual([{ percent: 12 }])
  job.finish()
  await Promise.all([running, waiting, last])
})

test('progress is told a few times a second at most, and the last word counts', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  const job = work()
  const running = baton.run('pull', digest, async ({ progress }) => {
    for (let percent = 0; percent <= 100; percent++) progress({ percent })
    await job.done
  })
  await clock.advance(1_000)
  expect(wire.of('progress').map(({ progress }) => progress.percent)).toEqual([0, 100])
  job.finish()
  await running
})

test('the result has the type that the callback returns', async () => {
  const { baton } = newClientWorld().client({ node: 'a' })
  const done = await baton.run('pull', digest, async () => ({ bytes: 1 }))
  expectTypeOf(done).toEqualTypeOf<Done<{ bytes: number }>>()
  if (done.status === 'performed') expectTypeOf(done.result).toEqualTypeOf<{ bytes: number }>()
  else expectTypeOf(done.result).toEqualTypeOf<{ bytes: number } | undefined>()
})

test('an update that is refused while nodes use the resource is told until when, at once and while it waits', async () => {
  const policy = completePolicy({ namespaces: { default: { updateRequiresNoRef: true } } })
  const world = newClientWorld({ policy })
  const [a, b] = [world.client({ node: 'a' }), world.client({ node: 'b' })]
  const held = await a.baton.acquire('update', digest)
  const waiting = outcomeOf(b.baton.run('update', digest, () => undefined))
  await settled()
  await a.baton.run('pull', digest, () => undefined)
  await held.fail('no')
  const refusal = { code: 'in-use', message: expect.stringMatching(/update is refused .* dropped their references/) }
  expect(await waiting).toMatchObject(refusal)
  expect(await outcomeOf(b.baton.run('update', digest, () => undefined))).toMatchObject(refusal)
})
