import { SHARED_HOLD } from '@baton-lock/core'
import type { Action } from './plan.ts'
import type { SimulatedClient, World } from './world.ts'

/** How long a raw client listens for its answer, and how soon after that it asks for the next thing. */
const LISTEN_MS = 4_000
const NEXT_MS = 300
/** Few, so that somebody else can guess them. */
export const RAW_HOLDS = ['raw-0', 'raw-1'] as const

/**
 * Without the SDK, by the shared hold id: asks, works without renewing, and reports with the fence it was given, however long
 * that took. Where it has to wait it listens on a stream that names it, or does not, and asks again; and when it has its
 * answer, it soon asks anew.
 */
export async function raw(world: World, client: SimulatedClient, action: Action): Promise<undefined> {
  const { draw } = action
  if (draw > 0.7 && draw < 0.8) return askForTwo(world, client, action)
  let reply = await ask(client, action)
  if (reply.status === 'queued' && draw < 0.7) {
    await (draw < 0.35 ? heard(world, client, action) : pause(world, client, LISTEN_MS * draw))
    reply = await ask(client, action)
  }
  if (reply.status === 'granted') await work(world, client, { ...action, fence: reply.fence })
  if (draw % 0.5 < 0.25) {
    await pause(world, client, NEXT_MS)
    const next = await ask(client, action)
    if (next.status === 'granted') await work(world, client, { ...action, fence: next.fence })
  }
}

/** Wants two operations of a resource as one owner, and asks for both again and again: one may block the other. */
async function askForTwo(world: World, client: SimulatedClient, action: Action): Promise<undefined> {
  const other = { ...action, operation: action.operation === 'lock' ? 'update' : 'lock' }
  for (let round = 0; round < 6; round++) {
    for (const each of [action, other]) await ask(client, each)
    await pause(world, client, NEXT_MS)
  }
}

function placeOf({ name }: SimulatedClient, { operation, resource, draw }: Action) {
  // Classic clients may have a type of their own.
  const type = operation === 'lock' && draw < 0.5 ? 'image-layer' : operation
  // Some have a hold id of their own, and send the same ask again: by then it may have ended.
  const hold = draw > 0.8 ? RAW_HOLDS[Math.floor(draw * 1_000) % RAW_HOLDS.length]! : SHARED_HOLD
  return { operation: type, resource, node: name, owner: name, hold }
}

function ask(client: SimulatedClient, action: Action) {
  const { revision, waitMs, draw, reference, force, verify } = action
  const place = placeOf(client, action)
  const more = {
    ttlMs: 1_000,
    revision,
    waitMs,
    reference,
    ...(place.operation === 'delete' && { dropReference: true }),
    ...(force && { disbelieve: Number.MAX_SAFE_INTEGER }),
    ...(verify === true && { verified: true }),
    ...(verify === false && { verifies: true }),
  }
  if (draw < 0.5) return client.messages.classic({ ...place, ...more })
  return client.messages.call<'acquire'>({ type: 'acquire', ...place, ...more })
}

async function work(world: World, client: SimulatedClient, action: Action & { fence: number }): Promise<void> {
  const { workMs, ends, fence, draw } = action
  const { node, hold, ...place } = placeOf(client, action)
  await client.messages.call<'progress'>({ type: 'progress', ...place, fence, progress: draw })
  await pause(world, client, workMs * 2)
  const end = ends === 'success' ? ({ outcome: 'success' } as const) : ({ outcome: 'failure', error: 'raw' } as const)
  await client.messages.call<'release'>({
    type: 'release',
    ...place,
    ...(draw < 0.2 && { node }),
    hold,
    fence,
    ...end,
    ...(ends === 'no-effect' && { outcome: 'success', effect: 'none' }),
  })
}

/** Until something final comes on a stream of its own, or for so long. */
function heard(world: World, client: SimulatedClient, action: Action): Promise<void> {
  return new Promise((resolve) => {
    const scope = { of: 'ask', namespace: 'default', ...placeOf(client, action) } as const
    const stream = client.messages.listen(scope, {
      onEvent: (event) => {
        if (event.type === 'told' || event.type === 'granted') end()
      },
      onEnd: () => end(),
    })
    const end = () => {
      stream.close()
      resolve()
    }
    world.scheduler.after(client.process, LISTEN_MS, end)
  })
}

function pause(world: World, { process }: SimulatedClient, ms: number): Promise<void> {
  return new Promise((resolve) => void world.scheduler.after(process, ms, resolve))
}
