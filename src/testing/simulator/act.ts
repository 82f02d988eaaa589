import { pause } from '../../client/clock.ts'
import { BatonError, PermanentError, type RunContext } from '../../client/index.ts'
import type { CallbackRecord } from '../history.ts'
import { skipOf } from '../skip-of.ts'
import { attack } from './attack.ts'
import type { Action } from './plan.ts'
import { raw } from './raw.ts'
import type { SimulatedClient, World } from './world.ts'

/** What a client does for one action of the plan. Resolves when its caller has the answer, whatever it is. */
export async function act(world: World, action: Action, call: number): Promise<void> {
  const client = world.clients[action.client]!
  const { operation, resource } = action
  const about = { client: client.name, call, operation, resource }
  const nowMs = () => world.scheduler.nowMs()
  try {
    const done = await perform(world, client, action, call)
    if (done) world.history.push({ kind: 'call', nowMs: nowMs(), ...about, status: done.status, fence: done.fence })
  } catch (error) {
    if (!(error instanceof BatonError || error instanceof WorkFailed || error instanceof PermanentError)) throw error
    const text = error instanceof BatonError ? error.code : error.name
    world.history.push({ kind: 'call', nowMs: nowMs(), ...about, status: 'thrown', fence: 0, error: text })
  }
}

class WorkFailed extends Error {
  override readonly name = 'WorkFailed'
}

type Done = { readonly status: 'performed' | 'skipped'; readonly fence: number }

async function perform(world: World, client: SimulatedClient, action: Action, call: number): Promise<Done | undefined> {
  const { baton, process, name } = client
  const { operation, resource, waitMs, revision, force, queueing, reference, verify } = action
  const abort = new AbortController()
  if (action.abortAfterMs !== undefined) world.scheduler.after(process, action.abortAfterMs, () => abort.abort())
  const owner = action.sharedOwner ? { owner: `${name}-shared` } : {}
  const options = { waitMs, revision, force, queueing, reference, signal: abort.signal, ...owner }
  switch (action.kind) {
    case 'run': {
      const check = verify === undefined ? {} : { verify: () => verify === 'true' }
      return baton.run(operation, resource, (context) => work(world, client, action, call, context), {
        ...options,
        ...check,
      })
    }
    case 'acquire': {
      const grant = await baton.acquire(operation, resource, options).catch(skipOf)
      if (grant.status === 'skipped') return grant
      const { fence } = grant
      try {
        await work(world, client, action, call, {
          ...grant,
          signal: grant.signal,
          fence,
          owner: grant.owner,
          noEffect: () => {},
        } as unknown as RunContext)
      } catch (error) {
        await grant.fail(error)
        throw error
      }
      await grant.succeed()
      return { status: 'performed', fence }
    }
    case 'attack':
      return attack(world, action)
    case 'raw':
      return raw(world, client, action)
    case 'reference':
      await (action.workMs > 100 ? baton.references.add(resource) : baton.references.release(resource))
      return undefined
    case 'revoke':
      await baton.revoke(operation, resource)
      return undefined
    case 'drop-node':
      await baton.references.dropNode(`client-${action.workMs % 5}`)
      return undefined
  }
}

/** The work itself: it writes with its fence at the beginning and at the end, and takes its time in between. */
async function work(
  world: World,
  client: SimulatedClient,
  action: Action,
  call: number,
  context: RunContext,
): Promise<void> {
  const { operation, resource, workMs, ends } = action
  const { fence, owner, signal } = context
  const key = world.policy.namespaces.default!.exclusion === 'resource' ? resource : `${operation} ${resource}`
  const record = (what: CallbackRecord['what']) =>
    world.history.push({
      kind: 'callback',
      nowMs: world.scheduler.nowMs(),
      what,
      client: client.name,
      call,
      operation,
      resource,
      owner,
      fence,
    })
  record('began')
  signal.addEventListener('abort', () => record('lost'), { once: true })
  const accepted = world.fenced.write(key, fence)
  if (workMs > 0) {
    const clock = { after: (ms: number, callback: () => void) => world.scheduler.after(client.process, ms, callback) }
    await pause(clock as Parameters<typeof pause>[0], workMs)
  }
  const stillAccepted = world.fenced.write(key, fence)
  record('ended')
  if (!accepted || !stillAccepted || ends === 'failure') throw new WorkFailed('the work failed')
  if (ends === 'permanent') throw new PermanentError('it cannot be done')
  if (ends === 'no-effect') context.noEffect()
}
