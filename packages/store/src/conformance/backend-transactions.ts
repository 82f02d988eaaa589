import assert from 'node:assert/strict'
import { shardOf } from '../address.ts'
import type { Backend, OpenedResource, Part } from '../remote/index.ts'
import { type BackendCase, change, commit, look, opening, readPart, waiter, written } from './backend-case.ts'
import { aWhile, becomes } from './eventually.ts'

/** Two ids whose fences have the same floor. */
function neighbours(): [string, string] {
  const other = Array.from({ length: 1_000 }, (_, index) => `r${index}`).find((id) => shardOf(id) === shardOf('r'))
  return ['r', other!]
}

async function read(backend: Backend, resource: string): Promise<OpenedResource> {
  return (await look(backend, opening(resource))).resources[0]!
}

/** Changes of resources, made by two processes. */
export const transactions: readonly BackendCase[] = [
  {
    claim: 'what is committed is found by every process; what is not is found by nobody',
    check: async (first, second) => {
      await commit(first, change('r', { state: written('one'), fence: 7 }))
      const { text, fence } = await read(second, 'r')
      assert.deepEqual({ text, fence }, { text: 'one', fence: 7 })
      const failed = second.transaction(async (transaction) => {
        await transaction.open([opening('r')], 'wait')
        throw new RangeError('given up')
      })
      await assert.rejects(failed, /given up/)
      await second.transaction(async (transaction) => void (await transaction.open([opening('r')], 'wait')))
      assert.equal((await read(first, 'r')).text, 'one')
      assert.equal((await read(first, 'never')).text, undefined)
    },
  },
  {
    claim: 'two that open a resource at once change it one after the other',
    check: async (first, second) => {
      await commit(first, change('r', { state: written('0') }))
      const add = (backend: Backend) =>
        backend.transaction(async (transaction) => {
          const { resources } = await transaction.open([opening('r')], 'wait')
          await new Promise((resolve) => setImmediate(resolve))
          await transaction.commit([change('r', { state: written(`${Number(resources[0]!.text) + 1}`) })])
        })
      for (let round = 0; round < 10; round++) await Promise.all([first, second, first, second].map(add))
      assert.equal((await read(first, 'r')).text, '40')
    },
  },
  {
    claim: 'steps that change no more than a waiter come one after the other too',
    check: async (first, second) => {
      const leased = (expiresAtMs: number) => waiter(1, { lease: { expiresAtMs, ttlMs: 1 } })
      const appended = { appended: [leased(0)], removed: [], renewed: [] }
      await commit(
        first,
        change('r', { state: written('queue', { waiters: 1, queues: { pull: 1 } }), waiters: appended }),
      )
      const wanted = { what: 'first', operation: 'pull', count: 1 } as const
      // What is found may be old: it may not have been there then, and the commit fails.
      const leaseOf = ({ waiters }: Part) => waiters![0]?.waiter.lease.expiresAtMs ?? 0
      const renew = (backend: Backend) =>
        backend.transaction(async (transaction) => {
          const { resources } = await transaction.open([opening('r', { parts: [wanted] })], 'wait')
          const renewed = [leased(leaseOf(resources[0]!.parts[0]!) + 1)]
          await new Promise((resolve) => setImmediate(resolve))
          await transaction.commit([change('r', { waiters: { appended: [], removed: [], renewed } })])
        })
      for (let round = 0; round < 5; round++) await Promise.all([first, second, first, second].map(renew))
      assert.equal(leaseOf(await readPart(first, 'r', wanted)), 20)
    },
  },
  {
    claim: 'no fence is granted twice, however often a resource is made and forgotten',
    check: async (first, second) => {
      const fences: number[] = []
      const grant = async (backend: Backend) => {
        const fence = await backend.transaction(async (transaction) => {
          const { resources } = await transaction.open([opening('r')], 'wait')
          const next = Math.max(resources[0]!.fence, resources[0]!.fenceFloor) + 1
          await new Promise((resolve) => setImmediate(resolve))
          await transaction.commit([change('r', { state: written('held'), fence: next })])
          return next
        })
        fences.push(fence)
        await backend.transaction(async (transaction) => {
          const { resources } = await transaction.open([opening('r')], 'wait')
          const { text, fence: last } = resources[0]!
          if (text !== undefined)
            await transaction.commit([change('r', { state: 'idle', fence: last, leavesFence: true })])
        })
      }
      for (let round = 0; round < 5; round++) await Promise.all([first, second, first, second].map(grant))
      assert.equal(new Set(fences).size, fences.length)
    },
  },
  {
    claim: 'a fence that is left behind counts at once, where it was left and elsewhere',
    check: async (first, second) => {
      let last = 2 ** 40
      for (const backend of [first, second, first]) {
        const fence = last
        await commit(backend, change('r', { state: written('held'), fence }))
        await commit(backend, change('r', { state: 'idle', fence, leavesFence: true }))
        last = await backend.transaction(async (transaction) => {
          const { resources } = await transaction.open([opening('r')], 'wait')
          const next = Math.max(resources[0]!.fence, resources[0]!.fenceFloor) + 1
          await transaction.commit([change('r', { state: written('held'), fence: next })])
          return next
        })
        assert.ok(last > fence, `${last} was granted after ${fence}`)
      }
    },
  },
  {
    claim: 'those that are open elsewhere or new are left out where nobody is waited for',
    check: async (first, second) => {
      for (const resource of ['a', 'b']) await commit(first, change(resource, { state: written(resource) }))
      // It has heard of both then. One that opens without having heard learns of it by its commit, and there is none here.
      await second.counts()
      await first.transaction(async (outer) => {
        await outer.open([opening('a')], 'wait')
        const found = await second.transaction(async (inner) => {
          const { resources } = await inner.open([opening('a'), opening('b'), opening('new')], 'free')
          return resources.map((each) => each?.text)
        })
        // A store that compares and swaps has nothing open: it may give what it finds, and its commit decides.
        assert.ok(found[0] === undefined || found[0] === 'a')
        assert.deepEqual(found.slice(1), ['b', undefined])
      })
    },
  },
  {
    claim: 'a floor of fences is never lowered, whoever forgets a resource last',
    check: async (first, second) => {
      const [high, low] = neighbours()
      for (const resource of [high, low]) await commit(first, change(resource, { state: written('held') }))
      let isForgotten = false
      await first.transaction(async (transaction) => {
        await transaction.open([opening(low)], 'wait')
        if (!isForgotten) await commit(second, change(high, { state: 'idle', fence: 900, leavesFence: true }))
        isForgotten = true
        await transaction.commit([change(low, { state: 'idle', fence: 3, leavesFence: true })])
      })
      for (const backend of [first, second]) {
        const { text, fenceFloor } = await read(backend, low)
        assert.equal(text, undefined)
        assert.ok(fenceFloor >= 900, `the floor is ${fenceFloor}`)
      }
    },
  },
  {
    claim: 'a session that was found alive has not ended when the transaction is committed',
    check: async (first, second, clock) => {
      const place = { session: 's', operation: 'pull', node: 'n', owner: 'o' }
      for (const how of ['left', 'lost'] as const) {
        await second.insertSession({ session: 's', node: 'n', ttlMs: 2_000 })
        let ending: ReturnType<Backend['endSession']> | undefined
        let wasAlive = false
        await first.transaction(async (transaction) => {
          const { alive } = await transaction.open([opening(how, { sessions: ['s'] })], 'wait')
          wasAlive = alive.has('s')
          if (how === 'lost') clock.jump(2_000)
          ending ??= second.endSession('s', how)
          // It either waits for this transaction, or makes it fail.
          await Promise.race([ending, aWhile()])
          const gained = wasAlive ? [place] : []
          await transaction.commit([change(how, { state: written('held'), places: { gained, lost: [] } })])
        })
        const { places } = (await ending)!
        assert.equal(places.length, wasAlive ? 1 : 0, 'whoever ends a session finds all that hangs off it')
        const lost = wasAlive ? [place] : []
        await commit(first, change(how, { state: written('free'), places: { gained: [], lost } }))
        await second.removeSession('s')
      }
    },
  },
  {
    claim: 'letters come once, in the order of the commits, and before their resource is opened',
    check: async (first, second) => {
      const heard: string[] = []
      await second.listen({
        receive: (letter) => heard.push(letter),
        missed: () => assert.fail('nothing is missed'),
        due: () => {},
      })
      const expected: string[] = []
      for (let round = 0; round < 40; round++) {
        const letter = { to: [second.process], text: `letter ${round}` }
        expected.push(letter.text)
        await commit(first, change('r', { state: written(`${round}`), letter }))
        if (round % 4 !== 3) continue
        await second.transaction(async (transaction) => {
          await transaction.open([opening('r')], 'wait')
          const heardAtOpening = [...heard]
          // Who has read something old gives way here, and opens it again.
          await transaction.commit([change('r')])
          assert.deepEqual(heardAtOpening, expected)
        })
      }
      await becomes(() => heard.length >= expected.length)
      assert.deepEqual(heard, expected)
    },
  },
  {
    claim: 'one who hears all is named to everybody else',
    check: async (first, second) => {
      assert.deepEqual((await look(first, opening('r'))).hearers, [])
      await second.hearAll()
      assert.deepEqual((await look(first, opening('r'))).hearers, [second.process])
      assert.deepEqual((await look(second, opening('r'))).hearers, [])
    },
  },
  {
    claim: 'a policy is written by one of those that know its version',
    check: async (first, second) => {
      const version = (await first.readPolicy())!.version
      const results = await Promise.all([first.writePolicy('"a"', version), second.writePolicy('"b"', version)])
      assert.deepEqual(results.toSorted(), [false, true])
      const { text, version: now } = (await second.readPolicy())!
      assert.equal(text, results[0] ? '"a"' : '"b"')
      assert.equal(now, version + 1)
      assert.equal((await look(first, opening('r'))).policyVersion, now)
    },
  },
]
