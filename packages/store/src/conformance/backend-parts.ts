import assert from 'node:assert/strict'
import type { Backend, MemoryChange, Part, Wanted } from '../remote/index.ts'
import { type BackendCase, change, commit, look, opening, readPart, waiter, written } from './backend-case.ts'

/** Waiters 1 to 6 of `r`: odd ones pull, even ones update, the last two of revision v; and one of another resource. */
async function queue(backend: Backend): Promise<void> {
  await backend.insertSession({ session: 's', node: 'n', ttlMs: 60_000 })
  const appended = [1, 2, 3, 4, 5, 6].map((ticket) =>
    waiter(ticket, {
      operation: ticket % 2 === 1 ? 'pull' : 'update',
      revision: ticket > 4 ? 'v' : undefined,
      lease: ticket === 3 ? { expiresAtMs: 30, ttlMs: 30 } : { session: 's' },
      waitUntilMs: ticket === 4 ? 40 : undefined,
    }),
  )
  const waiters = { appended, removed: [], renewed: [] }
  await commit(backend, change('r', { state: written('r', { waiters: 6, queues: { pull: 3, update: 3 } }), waiters }))
  const other = { appended: [waiter(1)], removed: [], renewed: [] }
  await commit(
    backend,
    change('other', { state: written('other', { waiters: 1, queues: { pull: 1 } }), waiters: other }),
  )
}

const ticketsOf = ({ waiters = [] }: Part) => waiters.map((each) => each.waiter.ticket)

const memory = (owner: string, node: string | undefined, more: Partial<MemoryChange> = {}): MemoryChange => ({
  kind: 'released',
  operation: 'pull',
  owner,
  hold: '1',
  node,
  value: { node, fence: 1, reply: { status: 'refused', code: 'unknown-grant' }, untilMs: 50 },
  ...more,
})

/** Waiters and memories, which are kept apart from their resource and read a part at a time. */
export const keepingParts: readonly BackendCase[] = [
  {
    claim: 'waiters are found by queue, by age, by owner, by revision and by deadline',
    check: async (first, second) => {
      await queue(first)
      const wanted: readonly (readonly [Wanted, readonly number[]])[] = [
        [{ what: 'first', operation: 'pull', count: 2 }, [1, 3]],
        [{ what: 'first', operation: 'delete', count: 2 }, []],
        [{ what: 'oldest', count: 3, after: 2 }, [3, 4, 5]],
        [
          {
            what: 'owners',
            owners: [
              { operation: 'update', owner: 'o2' },
              { operation: 'pull', owner: 'o5' },
            ],
          },
          [2, 5],
        ],
        [{ what: 'owners', owners: [{ operation: 'update', owner: 'o1' }] }, []],
        [{ what: 'revision', operation: 'pull', revision: undefined }, [1, 3]],
        [{ what: 'revision', operation: 'pull', revision: 'v' }, [5]],
        [{ what: 'due', nowMs: 35 }, [3]],
      ]
      for (const [part, tickets] of wanted) {
        assert.deepEqual(ticketsOf(await readPart(second, 'r', part)), tickets)
        const { resources } = await look(second, opening('r', { parts: [part] }))
        if (part.what !== 'due') assert.deepEqual(ticketsOf(resources[0]!.parts[0]!), tickets)
      }
      assert.equal((await readPart(second, 'r', { what: 'due', nowMs: 35 })).nextDueMs, 40)
      const { before } = await readPart(second, 'r', { what: 'positions', operation: 'pull', tickets: [1, 5] })
      assert.deepEqual(before?.toSorted(), [
        [1, 0],
        [5, 2],
      ])
    },
  },
  {
    claim: 'a waiter comes back as it was written, with the process that its session is at',
    check: async (first, second) => {
      await queue(first)
      const heads = await readPart(second, 'r', { what: 'first', operation: 'update', count: 3 })
      const { waiter: last, process } = heads.waiters!.at(-1)!
      // What is undefined may be left out.
      assert.deepEqual(
        JSON.parse(JSON.stringify(last)),
        JSON.parse(JSON.stringify(waiter(6, { operation: 'update', revision: 'v' }))),
      )
      assert.equal(process, first.process)
      await second.renewSession('s', 'moved')
      const moved = await readPart(first, 'r', { what: 'first', operation: 'update', count: 1 })
      assert.equal(moved.waiters?.[0]?.process, second.process)
    },
  },
  {
    claim: 'waiters go and are renewed by their ticket, those of other resources stay',
    check: async (first, second) => {
      await queue(first)
      const renewed = waiter(3, { lease: { expiresAtMs: 90, ttlMs: 30 } })
      const waiters = { appended: [], removed: [waiter(1), waiter(4, { operation: 'update' })], renewed: [renewed] }
      await commit(
        second,
        change('r', { state: written('r', { waiters: 4, queues: { pull: 2, update: 2 } }), waiters }),
      )
      assert.deepEqual(ticketsOf(await readPart(first, 'r', { what: 'oldest', count: 9, after: 0 })), [2, 3, 5, 6])
      assert.deepEqual(await readPart(first, 'r', { what: 'due', nowMs: 50 }), { waiters: [], nextDueMs: 90 })
      assert.deepEqual(ticketsOf(await readPart(first, 'other', { what: 'oldest', count: 9, after: 0 })), [1])
      assert.equal((await second.due(10)).waiting, 5)
    },
  },
  {
    claim: 'memories are one for each ask, kind and node',
    check: async (first, second) => {
      const memories = [memory('a', 'n1'), memory('a', 'n2'), memory('a', undefined), memory('b', 'n1')]
      await commit(first, change('r', { state: written('r'), memories }))
      const asks = [{ operation: 'pull', owner: 'a', hold: '1' }]
      const nodes = async () => {
        const { memories: found } = await readPart(second, 'r', { what: 'memories', asks })
        return found!.map(({ value }) => value.node ?? '').toSorted()
      }
      assert.deepEqual(await nodes(), ['', 'n1', 'n2'])
      const gone = memory('a', 'n1', { value: undefined })
      await commit(second, change('r', { state: written('r2'), memories: [gone, memory('a', 'n3')] }))
      assert.deepEqual(await nodes(), ['', 'n2', 'n3'])
      const other = await readPart(first, 'other', { what: 'memories', asks })
      assert.deepEqual(other.memories, [])
    },
  },
  {
    claim: 'resources are listed by name, a page at a time, as far as they match',
    check: async (first, second) => {
      for (const resource of ['b1', 'a', 'b2', 'b%'])
        await commit(first, change(resource, { state: written('{}', { grants: resource === 'b2' ? 1 : 0 }) }))
      const find = async (query: Parameters<Backend['find']>[0]) =>
        (await second.find(query)).map(({ resource }) => resource)
      assert.deepEqual(await find({ limit: 10 }), ['a', 'b%', 'b1', 'b2'])
      assert.deepEqual(await find({ limit: 1 }), ['a', 'b%'], 'one more than the limit')
      assert.deepEqual(await find({ limit: 10, prefix: 'b%' }), ['b%'])
      assert.deepEqual(await find({ limit: 10, active: true }), ['b2'])
      assert.deepEqual(await find({ limit: 10, namespace: 'elsewhere' }), [])
      assert.deepEqual(await second.counts(), { resources: 4, grants: 1, waiters: 0, sessions: 0 })
    },
  },
]
