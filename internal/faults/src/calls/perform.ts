import { type Baton, BatonError, PermanentError, RefusedError, SkippedError } from '@baton-lock/client'
import type { CallbackRecord, CallRecord, ChangeRecord } from '../history/history.ts'
import type { Call } from './call.ts'

/** The client that makes a call, and the world around it: real processes, or the simulator. */
export interface Performer {
  readonly name: string
  readonly baton: Baton
  nowMs(): number
  pause(ms: number): Promise<void>
  abortAfter(ms: number): AbortSignal
  /** Writes to the fenced storage of the work. Returns whether it was accepted. */
  write(call: Call, fence: number): boolean | Promise<boolean>
  /** The result of its success. Default: none. */
  result?(call: Call, number: number): unknown
  record(record: CallRecord | CallbackRecord | ChangeRecord): void
}

interface Done {
  readonly status: 'performed' | 'skipped'
  readonly fence: number
}

/** What `run` and `acquire` both give to the work. */
interface Granted {
  readonly fence: number
  readonly owner: string
  readonly signal: AbortSignal
  progress(progress: number): void
}

class WorkFailed extends Error {
  override readonly name = 'WorkFailed'
}

/** Makes one call, and records how it ended. */
export function perform(performer: Performer, call: Call, number: number): Promise<void> {
  return recorded(performer, call, number, () => make(performer, call, number))
}

/** Records how a call ended. Throws errors that no caller should ever receive. */
export async function recorded(
  { name, nowMs, record }: Performer,
  { operation, resource }: Call,
  number: number,
  make: () => Promise<Done | undefined>,
): Promise<void> {
  const about = { kind: 'call', client: name, call: number, operation, resource } as const
  try {
    const done = await make()
    if (done) record({ ...about, nowMs: nowMs(), status: done.status, fence: done.fence })
  } catch (error) {
    const text = errorText(error)
    if (text === undefined) throw error
    record({ ...about, nowMs: nowMs(), status: 'thrown', fence: 0, error: text })
  }
}

/** `undefined` for an error that no caller should ever receive. */
function errorText(error: unknown): string | undefined {
  if (error instanceof BatonError) return error.code
  if (error instanceof WorkFailed || error instanceof PermanentError) return error.name
  // The reason of its own signal.
  return error instanceof DOMException ? 'aborted' : undefined
}

async function make(performer: Performer, call: Call, number: number): Promise<Done | undefined> {
  const { baton, name } = performer
  const { operation, resource, waitMs, revision, force, queueing, reference, verify } = call
  const signal = call.abortAfterMs === undefined ? undefined : performer.abortAfter(call.abortAfterMs)
  const owner = call.sharedOwner ? { owner: `${name}-shared` } : {}
  const options = { waitMs, revision, force, queueing, reference, signal, ...owner }
  switch (call.kind) {
    case 'run': {
      const check = verify === undefined ? {} : { verify: () => verify }
      return baton.run(
        operation,
        resource,
        async (context) => {
          await work(performer, call, number, context)
          if (call.ends === 'no-effect') context.noEffect()
          return performer.result?.(call, number)
        },
        { ...options, ...check },
      )
    }
    case 'acquire':
      return acquire(performer, call, number, options)
    default:
      await change(performer, call, number)
      return undefined
  }
}

/** Records when it begins and, unless it throws, when it is done: from then on nothing of it may happen any more. */
async function change({ name, baton, nowMs, record }: Performer, call: Call, number: number): Promise<void> {
  const { kind: type, operation, resource } = call
  if (type === 'run' || type === 'acquire') return
  const node = type === 'drop-node' ? call.node : name
  const about = { kind: 'change', client: name, call: number, type, operation, resource, node } as const
  record({ ...about, nowMs: nowMs(), what: 'began' })
  switch (type) {
    case 'add-reference':
      await baton.references.add(resource)
      break
    case 'release-reference':
      await baton.references.release(resource)
      break
    case 'revoke':
      await baton.revoke(operation, resource).catch((error: unknown) => {
        // Refused for good: there is no such grant any more.
        if (error instanceof RefusedError) record({ ...about, nowMs: nowMs(), what: 'done' })
        throw error
      })
      break
    case 'forget':
      await baton.forget(resource, { operation })
      break
    case 'drop-node':
      await baton.references.dropNode(node)
  }
  record({ ...about, nowMs: nowMs(), what: 'done' })
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
  await grant.succeed(performer.result?.(call, number), call.ends === 'no-effect' ? { effect: 'none' } : {})
  return { status: 'performed', fence: grant.fence }
}

/** `acquire` throws a skip. */
function skipOf(error: unknown): Done & { readonly status: 'skipped' } {
  if (error instanceof SkippedError) return { status: 'skipped', fence: error.fence }
  throw error
}

/**
 * Writes with its fence at the beginning and at the end, and takes its time in between. It ignores its signal: only the
 * fence keeps out a holder that has stalled.
 */
async function work(performer: Performer, call: Call, number: number, grant: Granted): Promise<void> {
  const { operation, resource, workMs, ends } = call
  const { fence, owner, signal } = grant
  const about = { kind: 'callback', client: performer.name, call: number, operation, resource, owner, fence } as const
  const record = (what: CallbackRecord['what']) => performer.record({ ...about, nowMs: performer.nowMs(), what })
  record('began')
  signal.addEventListener('abort', () => record('lost'), { once: true })
  const accepted = await performer.write(call, fence)
  grant.progress(0.5)
  if (workMs > 0) await performer.pause(workMs)
  const stillAccepted = await performer.write(call, fence)
  record('ended')
  if (!accepted || !stillAccepted || ends === 'failure') throw new WorkFailed('the work failed')
  if (ends === 'permanent') throw new PermanentError('it cannot be done')
}
