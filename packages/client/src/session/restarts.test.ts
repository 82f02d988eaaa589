import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'

test('a server that is away for two fifths of the ttl costs nobody a grant, whenever it goes', async () => {
  for (let aliveMs = 0; aliveMs < 10_000; aliveMs += 700) {
    const { client, clock } = newClientWorld()
    const { baton, wire, notices } = client({ node: 'a' })
    const lock = await baton.lock('l')
    await clock.advance(aliveMs)
    wire.goDown()
    await clock.advance(12_000)
    wire.comeBack()
    await clock.advance(30_000)
    expect(lock.isHeld, `away after ${aliveMs} ms: ${notices}`).toBe(true)
  }
})

test('a grant that is lost while the server is away is given back when its work has ended and the server is back', async () => {
  for (const how of ['callback', 'scope', 'run', 'lead'] as const) {
    const { client, clock } = newClientWorld()
    const [a, b] = [client({ node: 'a', ttlMs: 60_000 }), client({ node: 'b' })]
    const job = work()
    const operation = how === 'run' ? 'update' : how === 'lead' ? 'lead' : 'lock'
    const stop = new AbortController()
    const holding = outcomeOf<unknown>(
      how === 'callback'
        ? a.baton.lock('l', () => job.done)
        : how === 'run'
          ? a.baton.run('update', 'l', () => job.done)
          : how === 'lead'
            ? a.baton.lead('l', () => job.done, { signal: stop.signal })
            : a.baton.lock('l').then((lock) => job.done.then(() => lock.release())),
    )
    await settled()
    const next = b.baton.acquire(operation, 'l')
    a.wire.goDown()
    // Lost at 55 s, as the margin is 5 s. The lease of the server ends at 60 s.
    await clock.advance(55_500)
    expect((await b.baton.status('l')).waiting, how).toBe(1)
    job.finish()
    a.wire.comeBack()
    await clock.advance(1_000)
    expect(await next, how).toMatchObject({
      previous: { node: 'a', error: expect.stringContaining('no server has renewed') },
    })
    stop.abort()
    await clock.advance(1_000)
    expect(await holding, how).toEqual(how === 'lead' ? undefined : expect.objectContaining({ code: 'grant-lost' }))
  }
})

test('while its work goes on, a lost grant is not given back: the rest of the lease is its time to stop', async () => {
  const { client, clock } = newClientWorld()
  const [a, b] = [client({ node: 'a', ttlMs: 60_000 }), client({ node: 'b' })]
  const job = work()
  const holding = outcomeOf(a.baton.lock('l', () => job.done))
  await settled()
  const next = outcomeOf(b.baton.lock('l', { waitMs: 58_000 }))
  a.wire.goDown()
  await clock.advance(55_500)
  a.wire.comeBack()
  await clock.advance(3_000)
  expect(await next).toMatchObject({ code: 'wait-over', holder: 'a' })
  job.finish()
  await holding
})

test('the place in line of a session that is lost while the server is away is left, however long that takes', async () => {
  const { client, clock } = newClientWorld()
  const [a, b, c] = [client({ node: 'a', ttlMs: 60_000 }), client({ node: 'b' }), client({ node: 'c' })]
  const held = await b.baton.lock('l')
  const stop = new AbortController()
  const waiting = outcomeOf(a.baton.lock('l', { signal: stop.signal }))
  await settled()
  a.wire.goDown()
  await clock.advance(40_000)
  stop.abort()
  await waiting
  await clock.advance(16_000)
  const last = c.baton.lock('l')
  await settled()
  expect((await b.baton.status('l')).waiting).toBe(2)
  a.wire.comeBack()
  await clock.advance(1_000)
  expect((await b.baton.status('l')).waiting).toBe(1)
  await held.release()
  await last
})
