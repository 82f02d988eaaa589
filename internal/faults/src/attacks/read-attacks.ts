import type { Attack, Target } from './attack.ts'
import { holdMany } from './http-attacks.ts'
import { ask, flood, httpText, range, rawSocket } from './request.ts'

/** Attacks by reading: little is asked, and much is answered. */
export const readAttacks: readonly Attack[] = [
  {
    name: 'batch-of-long-queues',
    does: 'ten batches of 1,000 get-resource of a queue of 10,000, at once',
    prepare: (target) => queueMany(target, 'long-queue', 10_000),
    run: async (target) => {
      const body = { requests: range(1_000).map(() => ({ type: 'get-resource', resource: 'long-queue' })) }
      await flood(target, { lanes: 10, one: () => ask(target, '/v1/batch', { body, token: target.tokens.observe }) })
      return undefined
    },
  },
  {
    name: 'batch-of-policies',
    does: 'batches of 1,000 get-policy of a large policy',
    prepare: largePolicy,
    run: async (target) => {
      const body = { requests: range(1_000).map(() => ({ type: 'get-policy' })) }
      await flood(target, { lanes: 4, one: () => ask(target, '/v1/batch', { body, token: target.tokens.observe }) })
      return undefined
    },
  },
  {
    name: 'batches-of-lists',
    does: 'batches of 500 lists whose clients do not wait for them',
    prepare: (target) => holdMany(target, 2_000),
    run: async (target) => {
      const body = { requests: range(500).map(() => ({ type: 'list-resources', limit: 1_000 })) }
      const text = httpText('POST', '/v1/batch', { body, token: target.tokens.observe })
      await flood(target, {
        lanes: 4,
        one: async () => {
          const socket = await rawSocket(target)
          socket.write(text)
          await new Promise((resolve) => setTimeout(resolve, 50))
          socket.destroy()
        },
      })
      return undefined
    },
  },
  {
    name: 'lists',
    does: 'lists of 1,000 resources, as fast as they are answered',
    prepare: (target) => holdMany(target, 5_000),
    run: async (target) => {
      const options = { method: 'GET', token: target.tokens.observe }
      await flood(target, { lanes: 16, one: () => ask(target, '/v1/resources?limit=1000', options) })
      return undefined
    },
  },
  {
    name: 'lists-that-find-nothing',
    does: 'lists of a prefix that none of 20,000 resources has',
    prepare: (target) => holdMany(target, 20_000),
    run: async (target) => {
      const options = { method: 'GET', token: target.tokens.observe }
      await flood(target, {
        lanes: 16,
        one: () => ask(target, '/v1/resources?prefix=none&active=true&node=nobody', options),
      })
      return undefined
    },
  },
  {
    name: 'pages-of-waiters',
    does: 'pages of 1,000 waiters of a queue of 10,000',
    prepare: (target) => queueMany(target, 'long-queue', 10_000),
    run: async (target) => {
      const options = { method: 'GET', token: target.tokens.observe }
      await flood(target, { lanes: 16, one: () => ask(target, '/v1/waiters?resource=long-queue&limit=1000', options) })
      return undefined
    },
  },
]

/** So many that wait for one lock; their places last as long as the attack. */
export async function queueMany(target: Target, resource: string, count: number): Promise<void> {
  const session = 'a-session-of-the-attacker'
  await ask(target, '/v1/sessions/open', { body: { session, node: 'attacker', ttlMs: 600_000 } })
  const asked = (index: number) => ({
    type: 'acquire',
    operation: 'lock',
    resource,
    node: 'attacker',
    owner: `o-${index}`,
    hold: 'h',
    session,
  })
  for (let from = 0; from < count; from += 200)
    await ask(target, '/v1/batch', { body: { requests: range(200).map((index) => asked(from + index)) } })
}

async function largePolicy(target: Target): Promise<void> {
  const { admin: token } = target.tokens
  const now = await ask(target, '/v1/policy', { method: 'GET', token })
  const { version, policy } = now!.body as { version: number; policy: { namespaces?: object } }
  const namespaces = Object.fromEntries(range(500).map((index) => [`namespace-${index}`, {}]))
  await ask(target, '/v1/policy', {
    method: 'PUT',
    token,
    body: { version, policy: { ...policy, namespaces: { ...policy.namespaces, ...namespaces } } },
  })
}
