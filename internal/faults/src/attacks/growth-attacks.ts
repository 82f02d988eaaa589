import type { Attack, Target } from './attack.ts'
import { queueMany } from './read-attacks.ts'
import { ask, flood, range } from './request.ts'

/** Attacks by growing: what a client can have more and more of. */
export const growthAttacks: readonly Attack[] = [
  {
    name: 'holds',
    does: 'one owner takes the same lock again and again, under new hold ids',
    run: async (target) => {
      const one = (hold: number) => ({
        ...ATTACKER,
        type: 'acquire',
        operation: 'lock',
        resource: 'held',
        owner: 'o',
        hold: `h-${hold}`,
      })
      await batches(target, (count) => one(count))
      return undefined
    },
  },
  {
    name: 'references',
    does: 'a reference to another resource with every request',
    run: async (target) => {
      await batches(target, (count) => ({ ...ATTACKER, type: 'add-reference', resource: `referenced-${count}` }))
      return undefined
    },
  },
  {
    name: 'resources',
    does: 'another lock with every request, with ids of 500 bytes',
    run: async (target) => {
      const name = 'r'.repeat(490)
      await batches(
        target,
        (count) => ({
          ...ATTACKER,
          type: 'acquire',
          operation: 'lock',
          resource: `${name}${count}`,
          owner: 'o',
          hold: 'h',
          ttlMs: 600_000,
        }),
        60,
      )
      return undefined
    },
  },
  {
    name: 'kept-results',
    does: 'work on another resource with every request, and a result of 12 KiB kept',
    run: async (target) => {
      const place = (count: number) => ({ ...ATTACKER, operation: 'once', resource: `kept-${count}`, owner: 'o' })
      await flood(target, {
        lanes: 16,
        one: async (count) => {
          const granted = await ask(target, '/v1/acquire', { body: { ...place(count), hold: 'h' } })
          const { fence } = granted?.body ?? {}
          const release = {
            ...place(count),
            hold: 'h',
            fence,
            outcome: 'success',
            result: 'x'.repeat(12_000),
            keepMs: 3_600_000,
          }
          await ask(target, '/v1/release', { body: release })
        },
      })
      return undefined
    },
  },
  {
    name: 'sessions',
    does: 'another session with every request',
    run: async (target) => {
      await batches(target, (count) => ({
        ...ATTACKER,
        type: 'open-session',
        session: `a-session-of-the-attacker-${count}`,
        ttlMs: 600_000,
      }))
      return undefined
    },
  },
  {
    name: 'closing-a-large-session',
    does: 'a session with 100,000 places in line is closed, and opened again',
    prepare: (target) => queueMany(target, 'crowded', 100_000),
    run: async (target) => {
      await ask(target, '/v1/sessions/close', { body: { session: 'a-session-of-the-attacker' } })
      await flood(target, {
        lanes: 1,
        one: async () => {
          await queueMany(target, 'crowded', 2_000)
          await ask(target, '/v1/sessions/close', { body: { session: 'a-session-of-the-attacker' } })
        },
      })
      return undefined
    },
  },
  {
    name: 'the-victims-queue',
    does: 'one node fills the queue in which the victim waits, and leaves it, over and over',
    run: async (target) => {
      await flood(target, {
        lanes: 8,
        one: async (count) => {
          const place = { ...ATTACKER, operation: 'lock', resource: 'victim-shared', owner: `o-${count}`, hold: 'h' }
          await ask(target, '/v1/acquire', { body: place })
          await ask(target, '/v1/cancel', { body: place })
        },
      })
      return undefined
    },
  },
  {
    name: 'progress',
    does: 'progress of 4 KiB to 5,000 who wait, as fast as it is taken',
    prepare: (target) => queueMany(target, 'talked-about', 5_000),
    run: async (target) => {
      const place = { ...ATTACKER, operation: 'lock', resource: 'talked-about', owner: 'o-0' }
      await flood(target, {
        lanes: 8,
        one: (count) =>
          ask(target, '/v1/progress', { body: { ...place, fence: 1, progress: `${count}${'p'.repeat(4_000)}` } }),
      })
      return undefined
    },
  },
  {
    name: 'dropping-a-node',
    does: 'all references of a node with 20,000 are dropped, over and over',
    prepare: async (target) => {
      for (let from = 0; from < 20_000; from += 200) {
        const requests = range(200).map((index) => ({
          ...ATTACKER,
          type: 'add-reference',
          resource: `referenced-${from + index}`,
        }))
        await ask(target, '/v1/batch', { body: { requests } })
      }
    },
    run: async (target) => {
      await flood(target, { lanes: 8, one: () => ask(target, '/v1/references/drop-node', { body: ATTACKER }) })
      return undefined
    },
  },
  {
    name: 'classic-locks',
    does: 'POST /lock for another resource each time',
    isOpen: true,
    run: async (target) => {
      const body = (count: number) => ({ type: 'pull', resource_id: `classic-${count}`, node_id: 'attacker' })
      await flood(target, { lanes: 32, one: (count) => ask(target, '/lock', { body: body(count) }) })
      return undefined
    },
  },
]

const ATTACKER = { node: 'attacker' }

/** As many as go into a body, over and over. */
async function batches(target: Target, request: (count: number) => object, size = 200): Promise<void> {
  await flood(target, {
    lanes: 4,
    one: (count) =>
      ask(target, '/v1/batch', { body: { requests: range(size).map((index) => request(count * size + index)) } }),
  })
}
