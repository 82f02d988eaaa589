import type { InputOf } from '@baton-lock/client/connection/transport'
import { SHARED_HOLD } from '@baton-lock/core'
import type { RequestType } from '@baton-lock/protocol'
import { type Action, ADVERSARY, clientName } from './plan.ts'
import { RAW_HOLDS } from './raw.ts'
import type { World } from './world.ts'

/**
 * Somebody with a token of its own, who sees everything that is public, tries to act for others: to enter their grants, to end
 * them, to take their places, to keep them in line when they are gone, to take back what they have not asked yet.
 */
export async function attack(world: World, { resource, operation, client, draw }: Action): Promise<undefined> {
  const { transport } = world.adversary
  const call = <Type extends RequestType>(request: InputOf<Type>) => transport.call<Type>(request)
  const view = await call<'get-resource'>({ type: 'get-resource', resource })
  if (view.status === 'refused') return
  const { grants, waiters } = view.resource
  const actors = [...grants, ...waiters]
  const name = clientName(client)
  const nobody = { operation, node: name, owner: name, fence: 0 }
  const victim = actors[Math.floor(draw * 1_000) % Math.max(1, actors.length)] ?? nobody
  const place = { resource, operation: victim.operation, owner: victim.owner }
  const fence = 'fence' in victim ? victim.fence : 0
  const hold = draw < 0.5 ? SHARED_HOLD : `m-${draw}`
  const named = draw % 0.1 < 0.03 ? { node: victim.node } : {}
  const tries: (() => Promise<unknown>)[] = [
    () => call<'acquire'>({ type: 'acquire', ...place, node: ADVERSARY, hold, ttlMs: 1_000 }),
    () => call<'acquire'>({ type: 'acquire', ...place, node: victim.node, hold, ttlMs: 1_000 }),
    () => call<'release'>({ type: 'release', ...place, ...named, hold: SHARED_HOLD, fence, outcome: 'success' }),
    () => call<'renew'>({ type: 'renew', ...place, ...named, fence }),
    () => call<'cancel'>({ type: 'cancel', ...place, ...named, hold: SHARED_HOLD }),
    async () => {
      for (const each of world.clients) {
        for (const raw of RAW_HOLDS)
          await call<'cancel'>({ type: 'cancel', resource, operation, owner: each.name, hold: raw })
      }
    },
    () => call<'progress'>({ type: 'progress', ...place, ...named, fence, progress: 'ha' }),
    () => call<'add-reference'>({ type: 'add-reference', resource, node: victim.node }),
    () => call<'release-reference'>({ type: 'release-reference', resource, node: victim.node }),
    async () => {
      const session = `session-of-mallory-${draw}`
      await call<'open-session'>({ type: 'open-session', session, node: ADVERSARY, ttlMs: 1_000 })
      await call<'acquire'>({ type: 'acquire', ...place, node: ADVERSARY, hold, session })
      await call<'close-session'>({ type: 'close-session', session })
    },
  ]
  await tries[Math.floor(draw * 10_000) % tries.length]!()
}
