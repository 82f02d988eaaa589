import type { Baton, Done, RunContext, RunOptions } from '../../client/api.ts'
import { BatonError, GrantLostError } from '../../client/errors.ts'
import type { Json } from '../../core/index.ts'
import type { CliContext } from '../context.ts'
import { EXIT, Exit, exitOf } from '../exit.ts'
import { exitOfSignal, hearing, type StopSignal } from '../interrupt.ts'
import { type Child, type ChildEnd, startChild } from './child.ts'
import { WaitingLine } from './waiting-line.ts'

export interface CommandRun {
  readonly operation: string
  readonly resource: string
  readonly command: readonly string[]
  readonly waitMs: number | undefined
  readonly queueing: boolean
  readonly revision: string | undefined
  readonly force: boolean
  readonly permanentExits: readonly number[]
  readonly skipExit: number
}

/** How long CMD may take to end by itself once its grant is lost. */
const KILL_AFTER_MS = 5_000
/** Somebody looks at the place in line. */
const PLACE_EVERY_MS = 3_000

/** Runs CMD under a grant and resolves with the exit code of `baton run`. */
export async function runCommand(baton: Baton, run: CommandRun, context: CliContext): Promise<number> {
  const line = new WaitingLine(context.stderr, `${run.operation} ${run.resource}`)
  const giveUp = new AbortController()
  let child: Child | undefined
  let stoppedBy: StopSignal | undefined
  const onStop = (signal: StopSignal) => {
    stoppedBy ??= signal
    if (child === undefined) giveUp.abort()
    else if (!(signal === 'SIGINT' && onTerminal())) child.kill(signal)
  }
  const perform = async (grant: RunContext) => {
    line.end()
    if (stoppedBy) throw new Error(`stopped by ${stoppedBy}`)
    child = startChild(run.command, { env: environmentOf(run, grant, context.env), ownGroup: !onTerminal() })
    return outcomeOf(await endOf(child, grant.signal), run)
  }
  const options = {
    ...optionsOf(run),
    signal: giveUp.signal,
    onQueued: (position: number) => line.moved(position),
    onProgress: (progress: Json) => line.progressed(progress),
    ...(context.stderr.isTTY && { placeEveryMs: PLACE_EVERY_MS }),
  }
  try {
    const done = await hearing(onStop, () => baton.run(run.operation, run.resource, perform, options))
    line.end()
    if (done.status === 'performed') return EXIT.ok
    context.stderr.write(`skipped: ${skipText(run, done)}\n`)
    return run.skipExit
  } catch (error) {
    line.end()
    if (stoppedBy && child === undefined) return exitOfSignal(stoppedBy)
    throw explained(error, run, child?.pid !== undefined)
  }
}

function optionsOf({ waitMs, queueing, revision, force }: CommandRun): RunOptions {
  return {
    force,
    ...(waitMs !== undefined && { waitMs }),
    ...(revision !== undefined && { revision }),
    // Said only to turn it off: otherwise the policy decides.
    ...(queueing ? {} : { queueing }),
  }
}

/** On a terminal Ctrl-C goes to CMD as well as to us; to forward it would be a second one. */
function onTerminal(): boolean {
  return process.stdin.isTTY === true
}

function environmentOf(run: CommandRun, grant: RunContext, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...env,
    BATON_OPERATION: run.operation,
    BATON_RESOURCE: run.resource,
    BATON_NODE: grant.node,
    BATON_FENCE: String(grant.fence),
  }
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

function outcomeOf(end: ChildEnd, { permanentExits, command }: CommandRun): undefined {
  switch (end.how) {
    case 'exited': {
      const { code } = end
      if (code === 0) return undefined
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
function explained(error: unknown, { operation, resource }: CommandRun, started: boolean): unknown {
  if (error instanceof CommandFailed) return new Exit(error.code, started ? '' : error.message)
  // A lost grant names what it was of.
  if (!(error instanceof BatonError) || error instanceof GrantLostError) return error
  const { code, sentence } = exitOf(error)
  return new Exit(code, `${operation} ${resource}: ${sentence}`)
}
