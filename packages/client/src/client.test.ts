import type { WireEvent } from '@baton-lock/protocol'
import { settled } from '@baton-lock/store/conformance'
import { newClientWorld, outcomeOf, work } from '@baton-lock/test-support/client-world'
import { open } from 'baton-lock/open'
import { examplesOf, storeTable } from 'baton-lock/store-table'
import { expect, onTestFinished, test } from 'vitest'
import { GrantLostError } from './errors.ts'

const lock = ['lock', 'l'] as const

test('closing ends everything at once: grants fail, places in line go, and all who wait for it are told', async () => {
  const { client } = newClientWorld()
  const [a, b] = [client({ node: 'a' }), client({ node: 'b' })]
  const job = work()
  const running = outcomeOf(a.baton.run(...lock, () => job.done))
  const grant = await a.baton.acquire('lock', 'other')
  await settled()
  const waiting = outcomeOf(a.baton.acquire(...lock))
  const next = b.baton.acquire(...lock)
  await settled()
  await a.baton.close()
  expect(grant.signal.reason).toBeInstanceOf(GrantLostError)
  expect(await waiting).toMatchObject({ code: 'closed' })
  expect(await next).toMatchObject({
    previous: { node: 'a', outcome: 'failure', error: 'the client was closed' },
  })
  expect((await b.baton.status('l')).waiting).toBe(0)
  expect(a.wire.openStreams).toBe(0)
  job.finish()
  expect(await running).toBeInstanceOf(GrantLostError)
})

test('a closed client does nothing more', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  await (await baton.acquire(...lock)).succeed()
  await baton.close()
  await baton.close()
  const sent = wire.sent.length
  expect(await outcomeOf(baton.run(...lock, () => expect.unreachable()))).toMatchObject({ code: 'closed' })
  expect(await outcomeOf(baton.status('l'))).toMatchObject({ code: 'closed' })
  await clock.advance(600_000)
  expect(wire.sent).toHaveLength(sent)
})

test('closing without a server takes some seconds, not for ever', async () => {
  const { client, clock } = newClientWorld()
  const { baton, wire } = client({ node: 'a' })
  await baton.acquire(...lock)
  wire.goDown()
  const closing = baton.close()
  await clock.advance(7_000)
  await closing
})

test('what is seen of a resource says when that was by the clock of its times, whatever this machine thinks', async () => {
  const { client, clock } = newClientWorld()
  const { baton, skew } = client({ node: 'a' })
  await baton.acquire(...lock)
  skew.wallMs = 3_600_000
  await clock.advance(1_500)
  const status = await baton.status('l')
  expect(status.nowMs - status.grants[0]!.sinceMs).toBe(1_500)
  for await (const listed of baton.list()) expect(listed).toEqual(status)
  expect(await baton.timeline('l')).toMatchObject({ nowMs: status.nowMs })
  expect(await baton.overview()).toMatchObject({ nowMs: status.nowMs, counts: { resources: 1, grants: 1 } })
  expect(await baton.overview({ namespace: 'team' })).not.toHaveProperty('counts')
})

test('lists go over all pages and namespaces, or over one', async () => {
  const { client } = newClientWorld()
  const [all, team] = [client({ node: 'a' }), client({ node: 'b', namespace: 'team' })]
  for (let i = 0; i < 250; i++) await all.baton.references.add(`r-${i}`)
  await team.baton.references.add('t')
  const names = async (list: AsyncIterable<{ resource: string }>) => {
    const found: string[] = []
    for await (const { resource } of list) found.push(resource)
    return found
  }
  expect(await names(all.baton.list())).toHaveLength(251)
  expect(all.wire.of('list-resources')).toHaveLength(3)
  expect(await names(team.baton.list())).toEqual(['t'])
  expect(await names(all.baton.list({ prefix: 'r-24' }))).toHaveLength(11)
  expect(await names(all.baton.list({ active: true }))).toEqual([])
  expect(await names(all.baton.list({ node: 'b' }))).toEqual(['t'])
})

test('references are added, released, listed, and dropped with a dead node', async () => {
  const { client } = newClientWorld()
  const { baton } = client({ node: 'a' })
  expect(await baton.references.add('x')).toBe(1)
  expect(await baton.references.add('x', { node: 'dead' })).toBe(2)
  expect(await baton.references.add('y', { node: 'dead' })).toBe(1)
  expect(await baton.references.dropNode('dead')).toBe(2)
  expect(await baton.references.list('x')).toEqual(['a'])
  expect(await baton.references.release('x')).toBe(0)
})

test('a policy is read, completed and replaced, unless it has changed meanwhile', async () => {
  const { client } = newClientWorld()
  const { baton } = client({ node: 'a' })
  const { version } = await baton.policy()
  const applied = await baton.applyPolicy(
    { namespaces: { default: { operations: { bake: { attempts: 2 } } } } },
    version,
  )
  expect(applied.version).toBe(version + 1)
  expect(applied.policy.namespaces.default?.operations.bake).toMatchObject({ attempts: 2, waitersOnSuccess: 'next' })
  expect((await baton.run('bake', 'bread', () => 'done')).status).toBe('performed')
  expect(await outcomeOf(baton.applyPolicy({ namespaces: {} }, version))).toMatchObject({ code: 'policy-changed' })
  expect(await outcomeOf(baton.applyPolicy({ nonsense: 1 }, 2))).toMatchObject({ code: 'bad-request' })
})

test('events come in order, over as many streams as it takes, and none is missed', async () => {
  const { client, clock } = newClientWorld()
  const [a, watcher] = [client({ node: 'a' }), client({ node: 'w' })]
  const stop = new AbortController()
  const seen: WireEvent[] = []
  const watching = (async () => {
    for await (const event of watcher.baton.events({ signal: stop.signal })) seen.push(event)
  })()
  await settled()
  const grant = await a.baton.acquire(...lock)
  await settled()
  watcher.wire.cutStreams()
  await grant.succeed()
  await clock.advance(1_000)
  expect(seen.map(({ type }) => type)).toEqual(['state', 'granted', 'ended'])
  expect(watcher.wire.opened).toBe(2)
  stop.abort()
  await watching
  expect(watcher.wire.openStreams).toBe(0)
})

test('a slow reader of events is cut off, and then hears what it has missed', async () => {
  const { client } = newClientWorld()
  const [a, watcher] = [client({ node: 'a' }), client({ node: 'w' })]
  const events = watcher.baton.events()[Symbol.asyncIterator]()
  expect((await events.next()).value).toMatchObject({ type: 'state' })
  for (let i = 0; i < 1_500; i++) await a.baton.references.add(`r-${i}`)
  for (let i = 0; i < 1_500; i++) {
    expect((await events.next()).value).toMatchObject({ type: 'referenced', resource: `r-${i}` })
  }
  expect(watcher.wire.opened).toBe(2)
  await events.return?.()
})

test('the events of one resource begin with its state', async () => {
  const { client } = newClientWorld()
  const { baton } = client({ node: 'a' })
  await baton.acquire(...lock)
  for await (const event of baton.events({ resource: 'l' })) {
    expect(event).toMatchObject({ type: 'state', of: 'resource', view: { grants: [{ node: 'a' }] } })
    break
  }
})

test('a store that is not known is refused with those that are', async () => {
  await expect(open('redis://localhost')).rejects.toThrow(`'redis:'; use ${examplesOf(storeTable)}`)
})

test('open runs in process: the same interface without a server', async () => {
  const baton = await open('memory:', { node: 'a' })
  onTestFinished(() => baton.close())
  const results = await Promise.all(Array.from({ length: 10 }, (_, i) => baton.run('pull', 'p', async () => i)))
  expect(results.filter(({ status }) => status === 'performed')).toHaveLength(1)
  expect(new Set(results.map(({ result }) => result)).size).toBe(1)
})

test('what a caller does to a result that it was told changes nothing for others', async () => {
  const baton = await open('memory:', { node: 'a' })
  onTestFinished(() => baton.close())
  const given = { list: [1] }
  await baton.run('pull', 'p', () => given)
  given.list.push(2)
  const first = await baton.run('pull', 'p', () => given)
  first.result?.list.push(3)
  expect((await baton.run('pull', 'p', () => given)).result).toEqual({ list: [1] })
})
