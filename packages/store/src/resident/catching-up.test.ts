import { SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { openFileStore } from '../file/index.ts'
import { openMemoryStore } from '../memory/index.ts'
import type { Store } from '../store.ts'

const AT = { namespace: 'default', resource: 'r' }
const acquire = (node: string, more = {}) => ({
  type: 'acquire' as const,
  operation: 'lock',
  node,
  owner: node,
  hold: node,
  ttlMs: 1_000,
  placeTtlMs: 60_000,
  ...more,
})

/** A clock that has jumped by ten seconds, and what arrived meanwhile is still to be read. */
function jumpingClock() {
  let nowMs = 1_000_000
  let tell = (_isCatchingUp: boolean) => {}
  return {
    nowMs: () => nowMs,
    onCatchUp(listener: (isCatchingUp: boolean) => void) {
      tell = listener
    },
    jump() {
      nowMs += 10_000
      tell(true)
    },
    catchUp: () => tell(false),
  }
}

const opened: [string, (clock: ReturnType<typeof jumpingClock>, disk: SimulatedDisk) => Promise<Store>][] = [
  ['memory', async (clock) => openMemoryStore({ clock })],
  ['file', (clock, disk) => openFileStore({ clock, disk, directory: '/store', defer: queueMicrotask })],
]

test.each(opened)(
  '%s: what is renewed before everything was read lives on; the rest runs out then',
  async (_, open) => {
    const clock = jumpingClock()
    const store = await open(clock, new SimulatedDisk())
    for (const session of ['alive', 'dead']) await store.openSession({ session, node: session, ttlMs: 1_000 })
    const ofSession = { ...AT, resource: 'of a session' }
    await store.step(ofSession, acquire('alive', { session: 'alive' }))
    await store.step({ ...AT, resource: 'of the dead' }, acquire('dead', { session: 'dead' }))
    expect(await store.step(AT, acquire('a'))).toMatchObject({ status: 'granted', fence: 1 })
    clock.jump()
    // Others come first: they wait, whatever the time is.
    expect(await store.step(AT, acquire('b'))).toMatchObject({ status: 'queued' })
    await store.sweep(100)
    expect((await store.read(AT))?.grants).toMatchObject([{ node: 'a' }])
    expect(await store.renewSession('alive')).toMatchObject({ status: 'alive', places: 1 })
    expect(await store.step(AT, { type: 'renew', operation: 'lock', node: 'a', owner: 'a', fence: 1 })).toMatchObject({
      status: 'renewed',
    })
    clock.catchUp()
    await store.sweep(100)
    expect((await store.read(AT))?.grants).toMatchObject([{ node: 'a' }])
    expect((await store.read(ofSession))?.grants).toMatchObject([{ node: 'alive' }])
    expect((await store.read({ ...AT, resource: 'of the dead' }))?.grants).toEqual([])
    expect(await store.renewSession('dead')).toMatchObject({ code: 'session-lost' })
  },
)

test('a file that is read again knows who was spared', async () => {
  const clock = jumpingClock()
  const disk = new SimulatedDisk()
  const [, open] = opened[1]!
  const store = await open(clock, disk)
  await store.step(AT, acquire('a'))
  clock.jump()
  expect(await store.step(AT, acquire('b'))).toMatchObject({ status: 'queued' })
  await store.step(AT, { type: 'renew', operation: 'lock', node: 'a', owner: 'a', fence: 1 })
  await store.close()
  clock.catchUp()
  const again = await open(clock, disk)
  expect(await again.read(AT)).toMatchObject({ grants: [{ node: 'a', fence: 1 }], waiting: 1 })
})
