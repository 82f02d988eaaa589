import { type Command, InvalidArgumentError, Option } from 'commander'
import type { WhenUnavailable } from '../../client/api.ts'
import { LIMITS } from '../../protocol/index.ts'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { CliContext } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { type CommandRun, runCommand } from './command-run.ts'

/** The flags that every command which runs another one takes. */
export interface RunFlags extends ConnectionFlags {
  readonly wait?: string
  readonly ttl?: string
  readonly queue: boolean
  readonly revision?: string
  readonly force?: boolean
  readonly permanentExit?: readonly number[]
  readonly skipExit?: number
  readonly unavailable?: WhenUnavailable
}

/** Adds them. `unavailable`: what may be done without an answer; the first is the default. */
export function addRunOptions(
  command: Command,
  context: CliContext,
  { unavailable = ['fail', 'wait', 'run'] }: { readonly unavailable?: readonly WhenUnavailable[] } = {},
): Command {
  command
    .showHelpAfterError('The flags of what is run come after --, as in `baton lock NAME -- CMD --flag`; see --help.')
    .option('--node <node>', 'who asks (BATON_NODE; default: the host name)')
    .option('--wait <duration>', 'how long to wait until it begins, e.g. 10m; 0 does not wait (default: without limit)')
    .option('--ttl <duration>', 'after how long without a sign of life the next one takes over (default: 30s)')
    .option('--no-queue', 'give up at once where it is busy')
    .addOption(
      new Option('--unavailable <how>', 'without an answer of a server').choices(unavailable).default(unavailable[0]),
    )
  return addConnectionOptions(command, context)
}

/** Those of commands that skip what has been done. */
export function addSkipOptions(command: Command): Command {
  return command
    .option('--revision <text>', 'what version of the work it is about: a success of another one does not count')
    .option('--force', 'do it even though it has been done')
    .option('--permanent-exit <code>', 'an exit code after which no other try would do better; repeatable', exits)
    .option('--skip-exit <code>', 'the exit code when skipped (default: 0)', exit)
}

/** Connects and runs it: the exit code. */
export function runWith(
  flags: RunFlags,
  what: Pick<CommandRun, 'intent' | 'operation' | 'resource' | 'command'> & { readonly keepMs?: number | undefined },
  context: CliContext,
): Promise<number> {
  const ttlMs = flags.ttl === undefined ? undefined : parseDuration(flags.ttl, ttlLimits)
  const choice = { whenUnavailable: flags.unavailable, ...(ttlMs !== undefined && { ttlMs }) }
  const run: CommandRun = {
    keepMs: undefined,
    ...what,
    namespace: flags.namespace,
    waitMs: flags.wait === undefined ? undefined : parseDuration(flags.wait, { maxMs: LIMITS.waitMaxMs }),
    queueing: flags.queue,
    revision: flags.revision,
    force: flags.force ?? false,
    permanentExits: flags.permanentExit ?? [],
    skipExit: flags.skipExit ?? 0,
  }
  return withBaton(flags, context, (baton) => runCommand(baton, run, context), choice)
}

const ttlLimits = { minMs: LIMITS.ttlMinMs, maxMs: LIMITS.ttlMaxMs }

function exit(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw new InvalidArgumentError('An exit code is 0 to 255.')
  return Number(text)
}

function exits(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, exit(text)]
}

/** The end of `--help`: what the command sees, and the exit codes that scripts rely on. */
export const runHelp = `
The command sees BATON_OPERATION, BATON_RESOURCE, BATON_NODE and BATON_FENCE.

Exit codes: the command's own when it ran (128+n when a signal ended it, 127 when there is none of that name);
  64 usage; 69 no server or store answers; 70 the grant was lost while the command ran; 75 busy, or the wait was over;
  77 unauthorised.`

export const skipHelp = `${runHelp}
  And: 0 and a line 'skipped: …' on stderr when skipped (--skip-exit); 65 failed for good, told while waiting;
  73 nodes still use the resource.`
