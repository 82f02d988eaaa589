// needs: etcd
import type { Acquire, Event } from '@baton-lock/core'
import { WHOLE_ETCD } from '@baton-lock/faults/harness/etcd'
import { becomes } from '@baton-lock/store/conformance/eventually'
import { SimulatedClock } from '@baton-lock/store/conformance/simulated-clock'
import { type Store, UnknownFormat } from '@baton-lock/store/store'
import { etcdOfFile } from '@baton-lock/test-support/etcd-world'
import { expect, onTestFinished, test } from 'vitest'
import { type Etcd, EtcdError, type Found, type Txn } from '../src/etcd.ts'
import { checkEtcdStore, openEtcdStore, raiseFences } from '../src/index.ts'

const world = etcdOfFile(WHOLE_ETCD)
const { open } = world

const at = { namespace: 'default', resource: 'r' }
const ask = (owner: string, more: Partial<Acquire> = {}): Acquire => ({
  type: 'acquire',
  operation: 'pull',
  node: owner,
  owner,
  hold: owner,
  ttlMs: 30_000,
  ...more,
})
const success = (owner: string, fence: number, result: { readonly digest: string } = { digest: '' }) =>
  ({ type: 'release', operation: 'pull', owner, hold: owner, fence, outcome: 'success', result }) as const
const fenceOf = (reply: object) => (reply as { fence: number }).fence

function toldBy(store: Store): { readonly askers: number; readonly events: readonly Event[] } {
  const heard = { askers: 0, events: [] as Event[] }
  store.subscribe(({ event, to }) => {
    heard.events.push(event)
    if (event.type === 'told') heard.askers += to.length
  })
  return heard
}

/** Whether a transaction carries out a part of a large commit. */
function isOfJournal({ compare }: Txn): boolean {
  return compare.some(({ key }) => /\/journal\/[^/]+\/\d+$/.test(key))
}

test('ten thousand wait for one key in two processes: they are queued in order, and all are told of the success', async () => {
  const MANY = 10_000
  const [a, b] = [await open(), await open()]
  for (const [store, session] of [[a, 'a'] as const, [b, 'b'] as const])
    await store.openSession({ session, node: session, ttlMs: 60_000 })
  const fence = fenceOf(await a.step(at, ask('holder', { session: 'a' })))
  const heard = [toldBy(a), toldBy(b)]
  await b.hearAll()
  const positions: number[] = []
  for (let first = 0; first < MANY; first += 1_000) {
    const some = Array.from({ length: 1_000 }, (_, index) => {
      const isA = (first + index) % 2 === 0
      return (isA ? a : b).step(at, ask(`o${first + index}`, { session: isA ? 'a' : 'b' }))
    })
    for (const reply of await Promise.all(some)) positions.push((reply as { position: number }).position)
  }
  expect(positions.toSorted((x, y) => x - y)).toEqual(Array.from({ length: MANY }, (_, index) => index + 1))
  expect((await b.read(at, 3))?.waiting).toBe(MANY)
  const result = { digest: 'x'.repeat(1_000) }
  expect((await a.step(at, success('holder', fence, result))).status).toBe('released')
  await becomes(() => heard.every(({ askers }) => askers === MANY))
  // Whoever has not heard it asks again, at either process.
  expect(await b.step(at, ask('o4321', { session: 'b' }))).toMatchObject({ status: 'skip', fence, result })
  expect((await a.read(at))?.waiting).toBe(0)
  expect(await b.places('b')).toEqual([])
}, 120_000)

test('a large commit whose process dies in the middle of it is finished by whoever comes next', async () => {
  let isDead = false
  const dying = (etcd: Etcd): Etcd => ({
    ...etcd,
    txn: (txn, options) => {
      isDead ||= isOfJournal(txn)
      return isDead ? Promise.reject(new EtcdError('unreachable', 'dead')) : etcd.txn(txn, options)
    },
  })
  const MANY = 3_000
  const [a, b] = [await open(dying), await open()]
  await b.openSession({ session: 'b', node: 'b', ttlMs: 60_000 })
  const fence = fenceOf(await a.step(at, ask('holder')))
  for (let first = 0; first < MANY; first += 500) {
    const some = Array.from({ length: 500 }, (_, index) => b.step(at, ask(`o${first + index}`, { session: 'b' })))
    await Promise.all(some)
  }
  expect((await a.step(at, success('holder', fence))).status).toBe('released')
  await becomes(() => isDead)
  for (const owner of ['o0', 'o2999'])
    expect(await b.step(at, ask(owner, { session: 'b' }))).toMatchObject({ status: 'skip', fence })
  expect(await b.places('b')).toEqual([])
  expect((await b.step(at, ask('next', { operation: 'update' }))).status).toBe('granted')
}, 60_000)

test('who waits is told though its watch is deaf, and though all that was is compacted', async () => {
  const deaf = (etcd: Etcd): Etcd => ({ ...etcd, watch: () => () => {} })
  const [a, b] = [await open(), await open(deaf)]
  await b.openSession({ session: 'b', node: 'b', ttlMs: 60_000 })
  for (const resource of ['first', 'second']) {
    const fence = fenceOf(await a.step({ ...at, resource }, ask('holder')))
    expect((await b.step({ ...at, resource }, ask('waiter', { session: 'b' }))).status).toBe('queued')
    const heard = toldBy(b)
    if (resource === 'second') await world.cluster.compact()
    await a.step({ ...at, resource }, success('holder', fence))
    await becomes(() => heard.askers === 1)
  }
}, 30_000)

test('a process whose clock is hours away neither ends a lease early nor keeps it for ever', async () => {
  const other = new SimulatedClock(world.clock.nowMs() + 5 * 3_600_000)
  const [a, b] = [await open(), await open(undefined, other)]
  await a.step(at, ask('holder', { ttlMs: 10_000 }))
  const place = { ttlMs: 60_000 }
  expect((await b.step(at, ask('next', place))).status).toBe('queued')
  // Whoever was killed is not renewed by anybody, and only the other one is left.
  world.clock.jump(3_600_000)
  other.jump(9_999)
  await b.sweep(100)
  expect((await b.step(at, ask('next', place))).status).toBe('queued')
  other.jump(1)
  await b.sweep(100)
  expect((await b.step(at, ask('next', place))).status).toBe('granted')
})

test('times are shown by the clock of whoever looks, whatever time it is for the resource', async () => {
  const late = new SimulatedClock()
  late.jump(3_600_000)
  const [a, b] = [await open(), await open((etcd) => etcd, late)]
  await a.step(at, ask('holder'))
  world.clock.jump(10_000)
  late.jump(10_000)
  await a.step(at, ask('waiter'))
  const shown = await b.read(at)
  const [grant, waiter] = [shown!.grants[0]!, shown!.waiters[0]!]
  expect(b.nowMs() - waiter.sinceMs).toBeLessThan(1_000)
  expect(b.nowMs() - grant.sinceMs).toBeGreaterThanOrEqual(9_999)
  expect(grant.expiresAtMs! - b.nowMs()).toBeGreaterThan(19_000)
  expect((await b.list({ limit: 1 })).resources).toEqual([shown])
  expect((await b.waiters(at, { limit: 1 })).waiters).toEqual([waiter])
})

test('a lease ends in time though others come to the queue all the while, at processes that take turns', async () => {
  const other = new SimulatedClock(1)
  const [a, b] = [await open(), await open(undefined, other)]
  await a.step(at, ask('holder', { ttlMs: 10_000 }))
  for (let second = 0; second < 10; second++) {
    for (const [store, name] of [[a, 'a'] as const, [b, 'b'] as const])
      await store.step(at, ask(`${name}${second}`, { ttlMs: 60_000 }))
    // What time passes between a commit and the sight of it is lost: here, none.
    for (const store of [a, b]) await store.counts()
    world.clock.jump(1_000)
    other.jump(1_000)
  }
  await b.sweep(100)
  expect((await b.step(at, ask('a0', { ttlMs: 60_000 }))).status).toBe('granted')
})

test('a step on what this process has left itself is one request; on what another has changed since it is decided on that', async () => {
  let requests = 0
  const counted = (etcd: Etcd): Etcd => ({
    ...etcd,
    txn: (txn, options) => {
      if (txn.success.some((each) => !('range' in each)) || txn.compare.length > 0) requests++
      else if (txn.success.length > 1) requests++
      return etcd.txn(txn, options)
    },
  })
  const [a, b] = [await open(counted), await open()]
  const lock = (owner: string) => ask(owner, { operation: 'lock' })
  const unlock = (owner: string, fence: number) => ({ ...success(owner, fence), operation: 'lock' }) as const
  const cycle = async (store: Store, owner: string) => {
    const reply = await store.step(at, lock(owner))
    expect(reply.status).toBe('granted')
    await store.step(at, unlock(owner, fenceOf(reply)))
    return fenceOf(reply)
  }
  const fences = [await cycle(a, 'a1')]
  requests = 0
  fences.push(await cycle(a, 'a2'), await cycle(a, 'a3'))
  // Four; where this machine stands still for a second in between, one more of them reads first.
  expect(requests).toBeLessThanOrEqual(5)
  fences.push(await cycle(b, 'b1'), await cycle(a, 'a4'))
  expect(fences).toEqual([...new Set(fences)].toSorted((x, y) => x - y))
  // Again with the same names: what was remembered by the other process counts here too.
  expect((await a.step(at, unlock('b1', fences[3]!))).status).toBe('released')
  expect((await b.step(at, unlock('a3', fences[2]!))).status).toBe('released')
  const held = fenceOf(await a.step(at, lock('a5')))
  expect((await b.step(at, lock('b2'))).status).toBe('queued')
  await a.step(at, unlock('a5', held))
  expect(fenceOf(await b.step(at, lock('b2')))).toBeGreaterThan(held)
})

test('a hand-over between processes that hear all is two commits: neither reads, as each was told how the other has changed it', async () => {
  let reads = 0
  const counted = (etcd: Etcd): Etcd => ({
    ...etcd,
    txn: (txn, options) => {
      // A mailbox is looked at by a read of its own, once a second.
      if (txn.compare.length === 0 && txn.success.length > 1 && txn.success.every((each) => 'range' in each)) reads++
      return etcd.txn(txn, options)
    },
  })
  const [a, b] = [await open(counted), await open(counted)]
  for (const [store, session] of [[a, 'a'] as const, [b, 'b'] as const]) {
    await store.hearAll()
    await store.openSession({ session, node: session, ttlMs: 60_000 })
  }
  const lock = (session: string) => ask(session, { operation: 'lock', session })
  const heard: string[] = []
  for (const [store, name] of [[a, 'a'] as const, [b, 'b'] as const])
    store.subscribe(({ event }) => {
      if (event.type === 'granted' || event.type === 'queued') heard.push(`${name}: ${event.type} ${event.owner}`)
    })
  const fence = fenceOf(await a.step(at, lock('a')))
  expect((await b.step(at, lock('b'))).status).toBe('queued')
  // Each has received the other's letter. Before that, it has to read.
  await becomes(() => ['b: granted a', 'a: queued b'].every((each) => heard.includes(each)))
  for (const store of [a, b]) await store.counts()
  reads = 0
  await a.step(at, { ...success('a', fence), operation: 'lock' })
  await becomes(() => heard.includes('b: granted b'))
  expect((await b.step(at, lock('b'))).status).toBe('granted')
  expect(reads).toBe(0)
})

test('while one process has the next in a long line, a hand-over reads nothing, though another process has changed it before', async () => {
  let reads = 0
  const [a, b] = [
    await open((etcd) => ({
      ...etcd,
      txn: (txn, options) => {
        if (txn.compare.length === 0 && txn.success.length > 1 && txn.success.every((each) => 'range' in each)) reads++
        return etcd.txn(txn, options)
      },
    })),
    await open(),
  ]
  await b.openSession({ session: 'b', node: 'b', ttlMs: 60_000 })
  await a.openSession({ session: 'a', node: 'a', ttlMs: 60_000 })
  const lock = (owner: string) => ask(owner, { operation: 'lock', session: owner[0]! })
  const first = fenceOf(await b.step(at, lock('b-first')))
  const owners = Array.from({ length: 20 }, (_, place) => `a${place}`)
  for (const owner of owners) expect((await a.step(at, lock(owner))).status).toBe('queued')
  for (let last = 0; last < 20; last++) await b.step(at, lock(`b${last}`))
  await b.step(at, { ...success('b-first', first), operation: 'lock', hold: 'b-first' })
  const fences = [fenceOf(await a.step(at, lock('a0')))]
  reads = 0
  for (const [place, owner] of owners.slice(0, 10).entries()) {
    await a.step(at, { ...success(owner, fences[place]!), operation: 'lock', hold: owner })
    fences.push(fenceOf(await a.step(at, lock(owners[place + 1]!))))
  }
  expect(fences).toEqual(fences.toSorted((x, y) => x - y))
  // None; where this machine stands still for a second in between, one step reads first.
  expect(reads).toBeLessThanOrEqual(1)
})

test('a new ask reads nothing where a part of the resource is known; of one that is there already that is seen by its commit', async () => {
  let [reads, conflicts] = [0, 0]
  const [a, b] = [
    await open((etcd) => ({
      ...etcd,
      txn: async (txn, options) => {
        if (txn.compare.length === 0 && txn.success.length > 1 && txn.success.every((each) => 'range' in each)) reads++
        const result = await etcd.txn(txn, options)
        if (!result.succeeded) conflicts++
        return result
      },
    })),
    await open(),
  ]
  await b.openSession({ session: 'b', node: 'b', ttlMs: 60_000 })
  await a.openSession({ session: 'a', node: 'a', ttlMs: 60_000 })
  const lock = (owner: string) => ask(owner, { operation: 'lock', session: owner[0]! })
  for (let place = 0; place <= 20; place++) await b.step(at, lock(`b${place}`))
  expect(await a.step(at, lock('a1'))).toMatchObject({ status: 'queued', position: 21 })
  ;[reads, conflicts] = [0, 0]
  for (let place = 2; place <= 9; place++)
    expect(await a.step(at, lock(`a${place}`))).toMatchObject({ status: 'queued', position: 20 + place })
  // None; where this machine stands still for a second in between, one step reads first.
  expect(reads).toBeLessThanOrEqual(1)
  expect(conflicts).toBe(0)
  expect(await a.step(at, lock('b5'))).toMatchObject({ status: 'queued', position: 5 })
  expect(conflicts).toBeLessThanOrEqual(1)
  expect(await a.step(at, lock('a5'))).toMatchObject({ status: 'queued', position: 25 })
  expect(await a.step(at, lock('a10'))).toMatchObject({ status: 'queued', position: 30 })
})

test('fences go on above all that are known of, also after a raise; what is forgotten leaves nothing behind', async () => {
  const a = await open()
  const grant = async () => {
    const fence = fenceOf(await a.step(at, ask('a', { operation: 'lock' })))
    await a.step(at, { ...success('a', fence), operation: 'lock', hold: 'a' })
    world.clock.jump(3_600_000)
    await a.sweep(100)
    await a.sweep(100)
    expect(await a.counts()).toMatchObject({ resources: 0 })
    return fence
  }
  const fences = [await grant(), await grant()]
  const said = await raiseFences(world.url, 1_000_000)
  const floor = Number(/above (\d+);/.exec(said)![1])
  fences.push(await grant())
  expect(fences).toEqual(fences.toSorted((x, y) => x - y))
  expect(fences.at(-1)).toBeGreaterThan(floor)
  const { kvs = [] } = await world.cluster.call<{ kvs?: { key: string }[] }>('/v3/kv/range', {
    key: Buffer.from(`${world.prefix}/`).toString('base64'),
    range_end: Buffer.from(`${world.prefix}0`).toString('base64'),
    keys_only: true,
  })
  const kinds = new Set(kvs.map(({ key }) => Buffer.from(key, 'base64').toString().split('/')[1]))
  for (const kind of ['resource', 'waiter', 'owner', 'deadline', 'memory', 'answer', 'place', 'journal', 'part'])
    expect(kinds).not.toContain(kind)
})

test('a session whose lease etcd has ended before its time lives on where it is; one whose time is over does not', async () => {
  let etcd: Etcd
  const store = await openEtcdStore({
    url: world.url,
    clock: world.clock,
    around: (real) => {
      etcd = real
      return real
    },
  })
  onTestFinished(() => store.close())
  const endLease = async () => {
    const range = { key: `${world.prefix}/index/alive/s` }
    const { outcomes } = await etcd.txn({ compare: [], success: [{ range }] })
    const [kv] = (outcomes[0] as { readonly range: Found }).range.kvs
    if (kv) expect(await etcd.revokeLease(kv.lease)).toBe(true)
  }
  await store.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  await store.step(at, ask('a', { session: 's' }))
  await endLease()
  expect(await store.renewSession('s')).toMatchObject({ status: 'alive', places: 1 })
  world.clock.jump(59_999)
  await endLease()
  await becomes(async () => (await store.places('s')) !== undefined)
  await store.sweep(100)
  expect((await store.read(at))?.grants).toHaveLength(1)
  world.clock.jump(1)
  await endLease()
  expect((await store.renewSession('s')).status).toBe('refused')
  world.clock.jump(60_000)
  await store.sweep(100)
  expect((await store.read(at))?.grants).toEqual([])
})

/** Members that end leases before their time, as etcd 3.4.23 does. */
class OldMembers {
  asked = 0
  /** From now on none of the processes hears what is changed. */
  areDeaf = false
  #etcd: Etcd | undefined

  /** A deaf one never hears what is changed. */
  async open({ isDeaf = false } = {}): Promise<Store> {
    const around = (etcd: Etcd): Etcd => {
      this.#etcd = etcd
      return {
        txn: (txn, options) => {
          this.asked++
          return etcd.txn(txn, options)
        },
        grantLease: (id, ttlS) => etcd.grantLease(id, ttlS),
        revokeLease: (id) => etcd.revokeLease(id),
        keepAlive: (id) => etcd.keepAlive(id),
        leaseTimes: (id) => etcd.leaseTimes(id),
        watch: (keys, from, watched) =>
          etcd.watch(keys, from, {
            ...watched,
            events: (events, revision) => isDeaf || this.areDeaf || watched.events(events, revision),
          }),
        compact: (revision) => etcd.compact(revision),
        status: async () => (await etcd.status()).map((member) => ({ ...member, version: '3.4.23' })),
        quota: (endpoint) => etcd.quota(endpoint),
        alarms: () => etcd.alarms(),
        prefer: (endpoint) => etcd.prefer(endpoint),
        moveOn: () => etcd.moveOn(),
        close: () => etcd.close(),
      }
    }
    const store = await openEtcdStore({ url: world.url, clock: world.clock, around })
    onTestFinished(() => store.close())
    return store
  }

  /** That of the session `s`. */
  async endLease(): Promise<void> {
    const { outcomes } = await this.#etcd!.txn({
      compare: [],
      success: [{ range: { key: `${world.prefix}/index/alive/s` } }],
    })
    const [kv] = (outcomes[0] as { readonly range: Found }).range.kvs
    expect(await this.#etcd!.revokeLease(kv!.lease)).toBe(true)
  }
}

test('a session whose lease etcd has ended before its time is not ended by another process that is asked to open it', async () => {
  const old = new OldMembers()
  const [a, b] = [await old.open({ isDeaf: true }), await old.open()]
  await a.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  const fence = fenceOf(await a.step(at, ask('a', { session: 's' })))
  await old.endLease()
  const opening = b.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  old.asked = 0
  await becomes(() => old.asked > 8)
  expect((await a.renewSession('s')).status).toBe('alive')
  expect(await opening).toMatchObject({ status: 'alive', places: 1 })
  expect((await b.read(at))?.grants).toMatchObject([{ fence }])
})

test('a session that has moved is not ended by the process that it was at, which has not heard of that, when its own count is over', async () => {
  const old = new OldMembers()
  const [a, b] = [await old.open(), await old.open()]
  await a.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  const fence = fenceOf(await a.step(at, ask('a', { session: 's' })))
  await a.counts()
  // a does not hear that it moves, nor b that its lease is over, for which it would give it another one.
  old.areDeaf = true
  world.clock.jump(50_000)
  expect((await b.renewSession('s')).status).toBe('alive')
  await old.endLease()
  // By the count of a it is over, by that of b it has most of its time before it.
  world.clock.jump(20_000)
  await a.sweep(100)
  expect((await b.read(at))?.grants).toMatchObject([{ fence }])
  expect((await b.renewSession('s')).status).toBe('alive')
})

test('a check says which members there are, how full they are, and what is in the store', async () => {
  const before = await checkEtcdStore(world.url)
  expect(before.isSound).toBe(true)
  expect(before.findings.at(-1)).toContain('the first start makes it')
  const a = await open()
  await a.step(at, ask('holder'))
  const { isSound, findings } = await checkEtcdStore(world.url)
  expect(isSound).toBe(true)
  expect(findings).toHaveLength(4)
  expect(findings.filter((each) => each.includes('the leader'))).toHaveLength(1)
  for (const member of findings.slice(0, 3))
    expect(member).toMatch(/ MiB \(\d+ in use\), \d+% of its quota of 2048 MiB$/)
  expect(findings.at(-1)).toMatch(/: 1 resource, 0 sessions, 1 process, \d+ events? under way, \d+ keys in all$/)
})

test.each([0, 2])('a store of the unknown format %d is refused with a sentence, and left alone', async (format) => {
  const key = Buffer.from(`${world.prefix}/meta`).toString('base64')
  const value = Buffer.from(JSON.stringify({ format, id: 'x', policyVersion: 0, floor: 0 })).toString('base64')
  await world.cluster.call('/v3/kv/put', { key, value })
  const uses = [
    () => openEtcdStore({ url: world.url, clock: world.clock }),
    checkEtcdStore,
    (each: string) => raiseFences(each),
  ]
  for (const use of uses) {
    const error = await use(world.url).catch((each) => each)
    expect(error).toBeInstanceOf(UnknownFormat)
    expect(error.code).toBe('unknown-format')
    expect(error.message).toBe(
      `the store under ${world.prefix}/ is in format ${format}, but this Baton reads only format 1: use the version of Baton that wrote it, or name another store`,
    )
  }
  const { kvs } = await world.cluster.call<{ kvs: { key: string; value: string }[] }>('/v3/kv/range', {
    key: Buffer.from(`${world.prefix}/`).toString('base64'),
    range_end: Buffer.from(`${world.prefix}0`).toString('base64'),
  })
  expect(kvs).toMatchObject([{ key, value }])
})
