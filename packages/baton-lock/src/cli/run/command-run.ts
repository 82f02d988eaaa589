import { type Baton, BatonError, type Done, GrantLostError, type LockOptions } from '@baton-lock/client'
import type { Json } from '@baton-lock/core'
import type { CliContext } from '../context.ts'
import { EXIT, Exit, exitOf } from '../exit.ts'
import { exitOfSignal, hearing, isStop, type PassedSignal, passedSignals } from '../interrupt.ts'
import { say } from '../print/say.ts'
import { type Child, type ChildEnd, deathSignalWorks, startChild } from './child.ts'
import { type CommandGrant, environmentOf } from './environment.ts'
import { type Holder, WaitingLine } from './waiting-line.ts'

export interface CommandRun {
  /** By which call: `run` is for the operations of the policy table. */
  readonly intent: 'lock' | 'once' | 'lead' | 'run'
  readonly operation: string
  readonly resource: string
  readonly command: readonly string[]
  readonly waitMs: number | undefined
  readonly queueing: boolean
  /** How long CMD may run. */
  readonly maxHoldMs: number | undefined
  readonly revision: string | undefined
  readonly force: boolean
  /** The namespace that the user named, for messages. */
  readonly namespace: string | undefined
  /** How long a success is good; absent: as the table says. */
  readonly keepMs: number | undefined
  readonly permanentExits: readonly number[]
  /** The exit code of a CMD that had nothing to do: a success that changes nothing. */
  readonly noEffectExit: number | undefined
  readonly skipExit: number
}

/** How long CMD may take to end by itself once its grant is lost. */
const KILL_AFTER_MS = 5_000
/** How often the place in line is looked for, on a terminal and off it. */
const PLACE_EVERY_MS = { terminal: 3_000, log: 60_000 } as const
/** What a terminal sends to CMD as well as to us: to pass it on would be a second one. */
const SENT_BY_TERMINAL = new Set<NodeJS.Signals>(['SIGINT', 'SIGQUIT', 'SIGWINCH'])

/** Runs CMD under a grant and resolves with the exit code. */
export async function runCommand(baton: Baton, run: CommandRun, context: CliContext): Promise<number> {
  const line = new WaitingLine(context.stderr, `${run.operation} ${run.resource}`)
  const giveUp = new AbortController()
  const canDieWithUs = deathSignalWorks()
  let child: Child | undefined
  let hasRun = false
  let stoppedBy: PassedSignal | undefined
  let exit: number = EXIT.ok
  const onSignal = (signal: PassedSignal) => {
    if (isStop(signal)) stoppedBy ??= signal
    if (!child) {
      if (stoppedBy) giveUp.abort()
    } else if (!(onTerminal() && SENT_BY_TERMINAL.has(signal))) child.kill(signal)
  }
  let waits = 0
  const showWait = async (position: number) => {
    const wait = ++waits
    const holder = await holderOf(baton, run)
    // Meanwhile it may have moved on, or have its turn.
    if (wait === waits) line.moved(position, holder)
  }
  const perform = async (grant: CommandGrant) => {
    waits++
    line.end()
    const diesWithUs = await canDieWithUs
    const { env, remove } = await environmentOf(run, grant, context.env)
    try {
      if (stoppedBy) throw new Error(`stopped by ${stoppedBy}`)
      grant.signal.throwIfAborted()
      child = startChild(run.command, { env, ownGroup: !onTerminal(), diesWithUs })
      hasRun = child.pid !== undefined
      const end = await endOf(child, grant.signal)
      exit = exitOfSuccess(end, run)
      if (exit === run.noEffectExit) grant.noEffect?.()
      return undefined
    } finally {
      remove()
      child = undefined
      if (stoppedBy) giveUp.abort()
    }
  }
  const report = {
    signal: giveUp.signal,
    onQueued: (position: number) => void showWait(position),
    onProgress: (progress: Json) => line.progressed(progress),
    placeEveryMs: context.stderr.isTTY ? PLACE_EVERY_MS.terminal : PLACE_EVERY_MS.log,
  }
  try {
    const done = await hearing(onSignal, () => call(baton, run, perform, report), passedSignals)
    if (done === 'stopped') return exitOfSignal(stoppedBy ?? 'SIGTERM')
    if (done?.status !== 'skipped') return exit
    line.end()
    say(context.stderr, `skipped: ${skipText(run, done)}`)
    return run.skipExit
  } catch (error) {
    if (stoppedBy && !hasRun) return exitOfSignal(stoppedBy)
    throw explained(error, run, hasRun)
  } finally {
    waits++
    line.end()
  }
}

/** `undefined` if nobody holds it, or if that cannot be found out. */
async function holderOf(baton: Baton, { operation, resource }: CommandRun): Promise<Holder | undefined> {
  try {
    const { grants, nowMs } = await baton.status(resource)
    const grant = grants.find((each) => each.operation === operation) ?? grants[0]
    return grant && { node: grant.node, sinceMs: Date.now() - (nowMs - grant.sinceMs) }
  } catch {
    return undefined
  }
}

/** Makes the SDK call for the intent. Returns how a skippable call ended, or `stopped` if a standby was stopped. */
async function call(
  baton: Baton,
  { intent, operation, resource, keepMs, revision, force, ...run }: CommandRun,
  perform: (grant: CommandGrant) => Promise<undefined>,
  report: Pick<LockOptions, 'signal' | 'onQueued' | 'onProgress' | 'placeEveryMs'>,
): Promise<Done<undefined> | 'stopped' | undefined> {
  const waiting = {
    ...report,
    ...(run.waitMs !== undefined && { waitMs: run.waitMs }),
    // Said only to turn it off: otherwise the policy decides.
    ...(run.queueing ? {} : { queueing: false }),
    ...(run.maxHoldMs !== undefined && { maxHoldMs: run.maxHoldMs }),
  }
  const skipping = { ...waiting, force, ...(revision !== undefined && { revision }) }
  switch (intent) {
    case 'lock':
      return baton.lock(resource, perform, waiting)
    case 'lead': {
      const { queueing, ...standing } = waiting
      const options = queueing === false ? { ...standing, waitMs: 0 } : standing
      const term = await baton.lead(resource, async (grant) => ({ end: await perform(grant) }), options)
      return term ? term.end : 'stopped'
    }
    case 'once':
      return baton.once(resource, perform, { ...skipping, ...(keepMs !== undefined && { keepMs }) })
    case 'run':
      return baton.run(operation, resource, perform, skipping)
  }
}

function onTerminal(): boolean {
  return process.stdin.isTTY === true
}

/** Waits for CMD. When the grant is lost CMD is asked to end, and made to if it does not. */
async function endOf(child: Child, signal: AbortSignal): Promise<ChildEnd> {
  let kill: NodeJS.Timeout | undefined
  const lost = () => {
    child.kill('SIGTERM')
    kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  }
  if (signal.aborted) lost()
  else signal.addEventListener('abort', lost, { once: true })
  const end = await child.ended
  signal.removeEventListener('abort', lost)
  clearTimeout(kill)
  if (!signal.aborted) return end
  child.killRest()
  throw signal.reason
}

/** How a callback reports a failure: by throwing it. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  readonly code: number
  readonly permanent: boolean
  constructor(failure: { code: number; error: string; permanent: boolean }) {
    super(failure.error)
    this.code = failure.code
    this.permanent = failure.permanent
  }
}

/** The exit code of a CMD that has succeeded. Throws if it has not. */
function exitOfSuccess(end: ChildEnd, { permanentExits, noEffectExit, command }: CommandRun): number {
  switch (end.how) {
    case 'exited': {
      const { code } = end
      if (code === EXIT.ok || code === noEffectExit) return code
      throw new CommandFailed({ code, error: `exit code ${code}`, permanent: permanentExits.includes(code) })
    }
    case 'killed':
      throw new CommandFailed({ code: exitOfSignal(end.signal), error: `killed by ${end.signal}`, permanent: false })
    case 'not-started':
      throw new CommandFailed({ code: end.code, error: `${command[0]}: ${end.error}`, permanent: false })
  }
}

function skipText({ operation, resource }: CommandRun, done: Extract<Done<unknown>, { status: 'skipped' }>): string {
  const what = `${operation} ${resource}`
  if (done.by === undefined) return `${what} is there already`
  return `${what} was done by ${done.by}${done.at === undefined ? '' : ` at ${done.at.toISOString()}`}`
}

/** A CMD that ran has said itself what went wrong; all the rest gets a sentence. */
function explained(error: unknown, { operation, resource, namespace }: CommandRun, started: boolean): unknown {
  if (error instanceof CommandFailed) return new Exit(error.code, started ? '' : error.message)
  // A lost grant names what it was of.
  if (!(error instanceof BatonError) || error instanceof GrantLostError) return error
  // `withBaton` adds the advice about the token.
  if (error.code === 'unauthorised') return error
  const { code, sentence } = exitOf(error)
  const what = `${operation} ${resource}`
  if (error.code !== 'in-use') return new Exit(code, error.resource === undefined ? `${what}: ${sentence}` : sentence)
  const where = namespace === undefined ? '' : ` --namespace ${namespace}`
  const shown = `\`baton refs list ${resource}${where}\` shows them`
  return operation === 'delete'
    ? new Exit(code, `${what}: other nodes use it, ${shown}; the reference of this node, if it had one, was dropped`)
    : new Exit(code, `${what}: nodes use it, ${shown}; ask again when they have dropped their references`)
}
