import assert from 'node:assert/strict'
import { type BackendCase, change, commit, look, opening, written } from './backend-case.ts'

/** Whole seconds, and two at least: so much every store can do to the millisecond. */
const session = { session: 's', node: 'n', ttlMs: 2_000 }
const place = { session: 's', operation: 'pull', node: 'n', owner: 'o' }

/** Sessions by the clock that counts, whichever process they are at. */
export const keepingSessions: readonly BackendCase[] = [
  {
    claim: 'a session that is not alive is renewed by nobody',
    check: async (first, second, clock) => {
      assert.equal(await first.renewSession('s', 'farewell'), undefined)
      assert.equal(await first.insertSession(session), true)
      assert.equal(await second.insertSession(session), false)
      clock.jump(1_999)
      assert.deepEqual(await first.renewSession('s', 'farewell'), { ttlMs: 2_000, places: 0 })
      assert.deepEqual(await second.renewSession('s', 'farewell'), { ttlMs: 2_000, places: 0 })
      clock.jump(2_000)
      for (const backend of [first, second]) {
        assert.equal(await backend.renewSession('s', 'farewell'), undefined)
        assert.equal(await backend.placesOf('s'), undefined)
        const { alive } = await look(backend, opening('r', { sessions: ['s'] }))
        assert.equal(alive.size, 0)
      }
    },
  },
  {
    claim: 'until when a session is alive is known, whichever process it is at',
    check: async (first, second, clock) => {
      const opened = clock.nowMs()
      await first.insertSession(session)
      assert.deepEqual(
        [...(await second.leasesOf(['s', 'other']))],
        [['s', { expiresAtMs: opened + 2_000, ttlMs: 2_000 }]],
      )
      clock.jump(400)
      await first.renewSession('s', 'farewell')
      assert.equal((await second.leasesOf(['s'])).get('s')?.expiresAtMs, opened + 2_400)
      clock.jump(2_000)
      assert.equal((await second.leasesOf(['s'])).size, 0)
    },
  },
  {
    claim: 'a session that moves takes leave of the process that it was at',
    check: async (first, second) => {
      const heard: string[] = []
      await first.listen({ receive: (letter) => heard.push(letter), missed: () => {}, due: () => {} })
      await first.insertSession(session)
      await first.renewSession('s', 'stayed')
      await second.renewSession('s', 'moved')
      await second.renewSession('s', 'stayed')
      await first.transaction(async (transaction) => {
        await transaction.open([opening('r')], 'wait')
        assert.deepEqual(await transaction.processesOf(['s']), [second.process])
      })
      assert.deepEqual(heard, ['moved'])
    },
  },
  {
    claim: 'a session ends once, with all of its places, and stays ended until they are gone',
    check: async (first, second, clock) => {
      await first.insertSession(session)
      const held = { state: written('held'), places: { gained: [place], lost: [] } }
      await commit(first, change('r', held))
      assert.equal((await second.placesOf('s'))?.length, 1)
      assert.equal(await second.endSession('s', 'lost'), undefined, 'its time is not over')
      clock.jump(2_000)
      assert.equal(await second.endSession('s', 'left'), undefined, 'it is not alive any more')
      const ended = await second.endSession('s', 'lost')
      assert.equal(ended?.how, 'lost')
      assert.deepEqual(ended?.places, [
        { namespace: 'default', resource: 'r', operation: 'pull', node: 'n', owner: 'o' },
      ])
      await second.removeSession('s')
      assert.equal((await first.endSession('s', 'lost'))?.places.length, 1, 'whoever comes later goes on with it')
      await commit(first, change('r', { state: 'idle', places: { gained: [], lost: [place] } }))
      await first.removeSession('s')
      assert.equal(await second.endSession('s', 'lost'), undefined)
      assert.equal(await second.insertSession(session), true)
    },
  },
  {
    claim: 'what is due is listed, and when the next will be',
    check: async (first, second, clock) => {
      const nowMs = clock.nowMs()
      await first.insertSession(session)
      for (const [resource, inMs] of Object.entries({ soon: 100, later: 5_000 }))
        await commit(first, change(resource, { nowMs, state: written(resource, { dueAtMs: nowMs + inMs }) }))
      const before = await second.due(10)
      assert.deepEqual(before, { resources: [], sessions: [], nextMs: nowMs + 100, waiting: 0 })
      clock.jump(2_000)
      const due = await second.due(10)
      assert.deepEqual(due.resources, [{ namespace: 'default', resource: 'soon' }])
      assert.deepEqual(due.sessions, ['s'])
      assert.equal(due.nextMs, nowMs + 5_000)
      assert.ok((await second.due(1)).nextMs! <= clock.nowMs(), 'there may be more')
    },
  },
]
