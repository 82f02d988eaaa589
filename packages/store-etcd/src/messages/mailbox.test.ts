import { systemTiming } from '@baton-lock/store/timing'
import { expect, test } from 'vitest'
import { Copies } from '../cache/copies.ts'
import { type Etcd, EtcdError, type KeyValue, type TxnResult, type Watched } from '../etcd.ts'
import { Keys } from '../keys.ts'
import { LargeValues } from '../transaction/large-values.ts'
import { Mailbox } from './mailbox.ts'

const keys = new Keys('x/')
const kv = (key: string, value: string, modRevision: number, more: Partial<KeyValue> = {}): KeyValue => {
  return { key, value, createRevision: modRevision, modRevision, version: 1, lease: 0, ...more }
}
const letter = (text: string, revision: number) => kv(keys.letter('p', text), text, revision)
const bell = (version: number, revision: number, createRevision = 1) =>
  kv(keys.bell('p'), '', revision, { version, createRevision })

/** A mailbox at an etcd that holds what it is given, and the watch that it begins. */
async function opened(...there: KeyValue[]) {
  const stored = [...there]
  const world = { reads: 0, told: [] as string[], watched: undefined as Watched | undefined }
  const etcd = {
    txn: async ({ success: [first] }: Parameters<Etcd['txn']>[0]): Promise<TxnResult> => {
      if (!first || !('range' in first)) return { succeeded: true, revision: 0, outcomes: [] }
      world.reads++
      const since = first.range.minModRevision ?? 0
      const kvs = stored.filter(({ modRevision }) => modRevision >= since)
      const revision = Math.max(1, ...stored.map(({ modRevision }) => modRevision))
      return { succeeded: true, revision, outcomes: [{ range: { kvs, count: kvs.length } }] }
    },
    watch: (_keys: unknown, _from: number, watched: Watched) => {
      world.watched = watched
      return () => {}
    },
  } as unknown as Etcd
  // Nothing is looked at but what is rung for.
  const timing = { ...systemTiming, after: () => () => {} }
  const mailbox = new Mailbox({
    etcd,
    keys,
    timing,
    process: 'p',
    large: new LargeValues(etcd, keys, timing),
    copies: new Copies(keys),
  })
  mailbox.receiver = {
    receive: (text) => world.told.push(text),
    missed: () => world.told.push('missed'),
    due: () => {},
  }
  await mailbox.start()
  const brings = async (...kvs: KeyValue[]) => {
    world.watched!.events(
      kvs.map((each) => ({ type: 'put', kv: each })),
      kvs.at(-1)!.modRevision,
    )
    await new Promise(setImmediate)
  }
  return { world, stored, brings }
}

test('what the watch brings is told at once where it is the next, and not read', async () => {
  const { world, brings } = await opened(letter('a', 5), bell(1, 5, 5))
  const { reads } = world
  await brings(letter('b', 7), bell(2, 7, 5))
  await brings(letter('c', 8), letter('d', 8), bell(3, 8, 5), letter('e', 9), bell(4, 9, 5))
  expect(world).toMatchObject({ told: ['a', 'b', 'c', 'd', 'e'], reads })
})

test('where the watch has lost one, all that has come is read, in order', async () => {
  const { world, stored, brings } = await opened(letter('a', 5), bell(1, 5, 5))
  stored.push(letter('b', 7), letter('c', 8), bell(3, 8, 5))
  await brings(letter('c', 8), bell(3, 8, 5))
  expect(world.told).toEqual(['a', 'b', 'c'])
  // What was read is not told again, though the watch brings it late.
  await brings(letter('b', 7), bell(2, 7, 5))
  await brings(letter('d', 9), bell(4, 9, 5))
  expect(world.told).toEqual(['a', 'b', 'c', 'd'])
})

test('a bell that was deleted and made anew says nothing of what came before', async () => {
  const { world, stored, brings } = await opened(letter('a', 5), bell(1, 5, 5))
  stored.push(letter('b', 7), letter('c', 8), bell(2, 8, 7))
  await brings(letter('c', 8), bell(2, 8, 7))
  expect(world.told).toEqual(['a', 'b', 'c'])
})

test('large letters whose parts cannot be read are missed, each of them, and nothing else fails', async () => {
  let reads = 0
  const etcd = {
    txn: () => {
      const away = new EtcdError('unreachable', 'away')
      // The second fails before the first, and nobody waits for it yet.
      return reads++ === 0
        ? new Promise((_, reject) => setImmediate(() => setImmediate(() => reject(away))))
        : Promise.reject(away)
    },
  } as unknown as Etcd
  const large = new LargeValues(etcd, keys, systemTiming)
  const mailbox = new Mailbox({ etcd, keys, timing: systemTiming, process: 'p', large, copies: new Copies(keys) })
  const told: string[] = []
  mailbox.receiver = { receive: (text) => told.push(text), missed: () => told.push('missed'), due: () => {} }
  const kvs = ['1', '2'].map((name) => kv(keys.letter('p', name), `@${keys.parts(name).key}1`, 5))
  await mailbox.receive({ kvs, count: 2 }, 6)
  expect(told).toEqual(['missed', 'missed'])
})
