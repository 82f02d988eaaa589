import { InvalidArgumentError, Option } from 'commander'
import type { WhenUnavailable } from '../../client/api.ts'
import { LIMITS } from '../../protocol/index.ts'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { type CommandRun, runCommand } from '../run/command-run.ts'

interface RunFlags extends ConnectionFlags {
  readonly wait?: string
  readonly ttl?: string
  readonly queue: boolean
  readonly revision?: string
  readonly force?: boolean
  readonly permanentExit?: readonly number[]
  readonly skipExit?: number
  readonly unavailable: WhenUnavailable
}

export const addRun: AddCommand = (program, context, done) => {
  const command = program
    .command('run')
    .description('Run a command once in the whole cluster: under a grant, or not at all if it has been done.')
    .argument('<operation>', 'pull, update, delete, lock, or one of the policy table')
    .argument('<resource>', 'what it works on, e.g. a layer digest')
    .argument('<cmd...>', 'after --: exit 0 is success, anything else failure')
    .usage('[options] <operation> <resource> -- <cmd...>')
    .option('--node <node>', 'who asks (BATON_NODE; default: the host name)')
    .option('--wait <duration>', 'how long to stand in line, e.g. 10m; 0 does not wait (default: without limit)')
    .option('--ttl <duration>', 'after how long without a sign of life the baton passes on (default: 30s)')
    .option('--no-queue', 'give up at once where it is busy')
    .option('--revision <text>', 'what version of the work it is about')
    .option('--force', 'do it even though it has been done')
    .option('--permanent-exit <code>', 'an exit code after which no other try would do better; repeatable', exits)
    .option('--skip-exit <code>', 'the exit code when skipped (default: 0)', exit)
    .addOption(
      new Option('--unavailable <how>', 'without an answer of a server')
        .choices(['wait', 'fail', 'run'])
        .default('fail' satisfies WhenUnavailable),
    )
  addConnectionOptions(command, context)
    .addHelpText('after', help)
    .action(async (operation: string, resource: string, cmd: string[], flags: RunFlags) => {
      const run = commandRun({ operation, resource, command: cmd }, flags)
      const ttlMs = flags.ttl === undefined ? undefined : parseDuration(flags.ttl, ttlLimits)
      const choice = { whenUnavailable: flags.unavailable, ...(ttlMs !== undefined && { ttlMs }) }
      done(await withBaton(flags, context, (baton) => runCommand(baton, run, context), choice))
    })
}

const ttlLimits = { minMs: LIMITS.ttlMinMs, maxMs: LIMITS.ttlMaxMs }

function commandRun(what: Pick<CommandRun, 'operation' | 'resource' | 'command'>, flags: RunFlags): CommandRun {
  return {
    ...what,
    waitMs: flags.wait === undefined ? undefined : parseDuration(flags.wait, { maxMs: LIMITS.waitMaxMs }),
    queueing: flags.queue,
    revision: flags.revision,
    force: flags.force ?? false,
    permanentExits: flags.permanentExit ?? [],
    skipExit: flags.skipExit ?? 0,
  }
}

function exit(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw new InvalidArgumentError('An exit code is 0 to 255.')
  return Number(text)
}

function exits(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, exit(text)]
}

const help = `
The command sees BATON_OPERATION, BATON_RESOURCE, BATON_NODE and BATON_FENCE.

Exit codes: the command's own when it ran (128+n when a signal ended it, 127 when there is none of that name);
  0 and a line 'skipped: …' on stderr when skipped (--skip-exit); 64 usage; 65 failed for good, told while waiting;
  69 no server or store answers; 70 the grant was lost while the command ran; 73 nodes still use the resource;
  75 busy, or the wait was over; 77 unauthorised.

Example:
  $ baton run pull sha256:abc --node node-a --wait 10m -- ./fetch sha256:abc`
