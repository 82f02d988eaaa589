import { type Baton, BatonError, PermanentError } from '../../client/index.ts'
import type { CallbackRecord } from '../history.ts'
import { type Journal, machineMs } from '../journal.ts'
import { skipOf } from '../skip-of.ts'
import type { Call } from './call.ts'

/** Who performs, on what. */
export interface Performer {
  readonly name: string
  readonly baton: Baton
  readonly journal: Journal
  /** The URL of the fenced resource that the work writes to. */
  readonly storage: string
}

/** What both ways to a grant give to the work. */
interface Granted {
  readonly fence: number
  readonly owner: string
  readonly signal: AbortSignal
  progress(progress: number): void
}

type Done = { readonly status: 'performed' | 'skipped'; readonly fence: number }

class WorkFailed extends Error {
  override readonly name = 'WorkFailed'
}

/** Makes one call and writes down how it ended. Throws what no caller of the SDK should ever see. */
export async function perform(performer: Performer, call: Call, number: number): Promise<void> {
  const { operation, resource } = call
  const about = { kind: 'call', client: performer.name, call: number, operation, resource } as const
  try {
    const done = await make(performer, call, number)
    if (done) performer.journal.write({ ...about, nowMs: machineMs(), status: done.status, fence: done.fence })
  } catch (error) {
    if (!(error instanceof BatonError || error instanceof WorkFailed || error instanceof PermanentError)) throw error
    const text = error instanceof BatonError ? error.code : error.name
    performer.journal.write({ ...about, nowMs: machineMs(), status: 'thrown', fence: 0, error: text })
  }
}

async function make(performer: Performer, call: Call, number: number): Promise<Done | undefined> {
  const { baton, name } = performer
  const { operation, resource, waitMs, revision, force, queueing, reference, verify } = call
  const signal = call.abortAfterMs === undefined ? undefined : AbortSignal.timeout(call.abortAfterMs)
  const owner = call.sharedOwner ? { owner: `${name}-shared` } : {}
  const options = { waitMs, revision, force, queueing, reference, signal, ...owner }
  const check = verify === undefined ? {} : { verify: () => verify }
  switch (call.kind) {
    case 'run':
      return baton.run(
        operation,
        resource,
        async (context) => {
          await work(performer, call, number, context)
          if (call.ends === 'no-effect') context.noEffect()
        },
        { ...options, ...check },
      )
    case 'acquire':
      return acquire(performer, call, number, options)
    case 'reference':
      await (call.reference ? baton.references.add(resource) : baton.references.release(resource))
      return undefined
    case 'revoke':
      await baton.revoke(operation, resource)
      return undefined
  }
}

async function acquire(performer: Performer, call: Call, number: number, options: object): Promise<Done> {
  const grant = await performer.baton.acquire(call.operation, call.resource, options).catch(skipOf)
  if (grant.status === 'skipped') return grant
  try {
    await work(performer, call, number, grant)
  } catch (error) {
    await grant.fail(error)
    throw error
  }
  await grant.succeed(undefined, call.ends === 'no-effect' ? { effect: 'none' } : {})
  return { status: 'performed', fence: grant.fence }
}

/**
 * Writes with its fence at the beginning and at the end, and takes its time in between. It does not look at its signal:
 * what keeps a holder out that has stalled is the fence.
 */
async function work(performer: Performer, call: Call, number: number, grant: Granted): Promise<void> {
  const { operation, resource, workMs, ends } = call
  const { fence, owner, signal } = grant
  const about = { client: performer.name, call: number, operation, resource, owner, fence }
  const record = (what: CallbackRecord['what']) =>
    performer.journal.write({ kind: 'callback', nowMs: machineMs(), what, ...about })
  record('began')
  signal.addEventListener('abort', () => record('lost'), { once: true })
  const accepted = await write(performer.storage, { key: `${operation} ${resource}`, fence })
  grant.progress(0.5)
  if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs))
  const stillAccepted = await write(performer.storage, { key: `${operation} ${resource}`, fence })
  record('ended')
  if (!accepted || !stillAccepted || ends === 'failure') throw new WorkFailed('the work failed')
  if (ends === 'permanent') throw new PermanentError('it cannot be done')
}

async function write(storage: string, entry: { readonly key: string; readonly fence: number }): Promise<boolean> {
  const answer = await fetch(storage, { method: 'POST', body: JSON.stringify(entry) })
  return ((await answer.json()) as { accepted: boolean }).accepted
}
