import type { WhenUnavailable } from '@baton-lock/client'
import { LIMITS } from '@baton-lock/protocol'
import { InvalidArgumentError, Option } from 'commander'
import type { CommandDefinition, DefineCommand, Flag } from '../command.ts'
import { type ConnectionFlags, chosenBy, withBaton } from '../connection.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../exit.ts'
import { say } from '../print/say.ts'
import { type CommandRun, runCommand } from '../run/command-run.ts'
import { parseDuration } from '../values.ts'

/** The flags of the commands that run another command. */
interface RunFlags extends ConnectionFlags {
  readonly wait?: string
  readonly ttl?: string
  readonly maxHold?: string
  readonly queue: boolean
  readonly revision?: string
  readonly force?: boolean
  readonly permanentExit?: readonly number[]
  /** Of `--no-effect-exit`: commander takes `--no-` for the negation of a flag, which is true if it is not given. */
  readonly effectExit?: number | true
  readonly skipExit?: number
  readonly unavailable?: WhenUnavailable
}

export const lock: DefineCommand = (context) => ({
  name: 'lock',
  summary: 'Run a command under a lock: one at a time in the whole cluster, in the order of asking.',
  args: [['<name>', 'of the lock'], COMMAND],
  usage: '[options] <name> -- <cmd...>',
  ...running(['fail', 'wait', 'run']),
  notes: `Everybody who asks runs it, one after another. What is to be done once is \`baton once\`.\n${EXIT_CODES}`,
  example: '$ baton lock deploy --wait 10m -- ./deploy.sh',
  run: (flags: RunFlags, resource: string, command: string[]) =>
    runWith(flags, { intent: 'lock', operation: 'lock', resource, command }, context),
})

export const lead: DefineCommand = (context) => ({
  name: 'lead',
  summary: 'Run a command as the leader: one at a time, the others stand by and take over.',
  args: [
    ['<name>', 'of what is led'],
    ['<cmd...>', 'after --: runs while this one leads'],
  ],
  usage: '[options] <name> -- <cmd...>',
  ...running(['wait', 'fail']),
  notes: `A standby waits. When the leader ends, dies or is cut off, the next one starts the command. A leader that has lost ends
its command (SIGTERM, then SIGKILL) and stands by again. It ends when its command does.
${EXIT_CODES}`,
  example: '$ baton lead scheduler --ttl 5s -- ./scheduler',
  run: (flags: RunFlags, resource: string, command: string[]) =>
    runWith(flags, { intent: 'lead', operation: 'lead', resource, command }, context),
})

interface OnceFlags extends RunFlags {
  readonly per?: string
}

export const once: DefineCommand = (context) => ({
  name: 'once',
  summary: 'Run a command once in the whole cluster; where it fails or dies, the next in line runs it.',
  args: [['<name>', 'of the work'], COMMAND_WITH_OUTCOME],
  usage: '[options] <name> -- <cmd...>',
  ...running(
    ['fail', 'wait', 'run'],
    [
      '--per <duration>',
      'a success is good for so long from its beginning, e.g. 20h (default: only for those who wait for it)',
    ],
    ...SKIP_FLAGS,
  ),
  notes: `For a job that several machines start by a timer, say --per: it counts from when the work began, so use somewhat less than
the time between two starts. Without it, a machine whose clock is late finds nobody at work and runs it again.
\`baton forget NAME\` has it done again at once.
Only the newest success is kept: with --revision, going back to an older one does the work again.
${SKIP_EXIT_CODES}`,
  example: '$ baton once nightly --per 20h -- ./nightly.sh\n$ baton once migrate:v42 --per 365d -- ./migrate.sh',
  async run(flags: OnceFlags, resource: string, command: string[]) {
    const keepMs = flags.per === undefined ? undefined : parseDuration(flags.per, { maxMs: LIMITS.keepMaxMs })
    if (keepMs !== undefined && timeStandsStill(flags, context)) say(context.stderr, `baton: ${TIME_STANDS_STILL}`)
    return runWith(flags, { intent: 'once', operation: 'once', resource, command, keepMs }, context)
  },
})

export const run: DefineCommand = (context) => ({
  name: 'run',
  summary: 'Run a command as an operation of the policy table: under a grant, or not at all if it has been done.',
  args: [
    ['<operation>', 'pull, update, delete, or one of the policy table'],
    ['<resource>', 'what it works on, e.g. a layer digest'],
    COMMAND_WITH_OUTCOME,
  ],
  usage: '[options] <operation> <resource> -- <cmd...>',
  ...running(['fail', 'wait', 'run'], ...SKIP_FLAGS),
  notes: SKIP_EXIT_CODES.trimStart(),
  example: '$ baton run pull sha256:abc --namespace content --wait 10m -- ./fetch sha256:abc',
  run: (flags: RunFlags, operation: string, resource: string, command: string[]) =>
    runWith(flags, { intent: 'run', operation, resource, command }, context),
})

const COMMAND = ['<cmd...>', 'after --'] as const
const COMMAND_WITH_OUTCOME = ['<cmd...>', 'after --: exit 0 is success, anything else failure'] as const

/** What the definitions share. `unavailable` are the choices of that flag; the first is the default. */
function running(
  unavailable: readonly WhenUnavailable[],
  ...own: readonly Flag[]
): Pick<CommandDefinition, 'flags' | 'connects' | 'helpAfterError'> {
  return {
    flags: [
      ...own,
      ['--node <node>', 'who asks (BATON_NODE; default: the host name)'],
      ['--wait <duration>', 'how long to wait until it begins, e.g. 10m; 0 does not wait (default: without limit)'],
      ['--ttl <duration>', 'after how long without a sign of life the next one takes over (default: 30s)'],
      [
        '--max-hold <duration>',
        'how long the command may run; then it is ended (SIGTERM, then SIGKILL), and has failed (default: without limit)',
      ],
      ['--no-queue', 'give up at once where it is busy'],
      new Option('--unavailable <how>', 'what to do if no server answers').choices(unavailable).default(unavailable[0]),
    ],
    connects: true,
    helpAfterError: 'The flags of what is run come after --, as in `baton lock NAME -- CMD --flag`; see --help.',
  }
}

/** For commands that skip work that was done already. */
const SKIP_FLAGS: readonly Flag[] = [
  ['--revision <text>', 'what version of the work it is about: a success of another one does not count'],
  ['--force', 'do it even though it has been done'],
  [
    '--permanent-exit <code>',
    'an exit code after which no other try would do better; repeatable',
    (text, before: readonly number[] = []) => [...before, exitCode(text)],
  ],
  [
    '--no-effect-exit <code>',
    'an exit code that says: there was nothing to do; a success that changes nothing',
    exitCode,
  ],
  ['--skip-exit <code>', 'the exit code when skipped (default: 0)', exitCode],
]

function exitCode(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw new InvalidArgumentError('An exit code is 0 to 255.')
  return Number(text)
}

/** Scripts rely on these. */
const EXIT_CODES = `
The command sees BATON_OPERATION, BATON_RESOURCE, BATON_NODE, BATON_FENCE and BATON_ATTEMPT; after a failure
BATON_PREVIOUS_NODE, BATON_PREVIOUS_OUTCOME and BATON_PREVIOUS_ERROR; in a delete BATON_WAITERS_FILE, a line of JSON for each
who waits for the resource.

Exit codes: the command's own when it ran (128+n when a signal ended it, 127 when there is none of that name);
  64 usage; 69 no server or store answers; 70 the grant was lost while the command ran; 75 busy, or the wait was over;
  77 unauthorised; 124 ended by --max-hold.`

const SKIP_EXIT_CODES = `${EXIT_CODES}
  And: 0 and a line 'skipped: …' on stderr when skipped (--skip-exit); 65 failed for good, told while waiting;
  73 nodes still use the resource.`

/** As the SDK has it. */
const HOLD_MAX_MS = 24 * 86_400_000

type What = Pick<CommandRun, 'intent' | 'operation' | 'resource' | 'command'> & { readonly keepMs?: number | undefined }

/** Connects and runs it: the exit code. */
function runWith(flags: RunFlags, what: What, context: CliContext): Promise<number> {
  const ttlLimits = { minMs: LIMITS.ttlMinMs, maxMs: LIMITS.ttlMaxMs }
  const ttlMs = flags.ttl === undefined ? undefined : parseDuration(flags.ttl, ttlLimits)
  const noEffectExit = flags.effectExit === true ? undefined : flags.effectExit
  if (noEffectExit !== undefined && flags.permanentExit?.includes(noEffectExit))
    throw new UsageError(
      `exit code ${noEffectExit} cannot be both a failure (--permanent-exit) and nothing to do (--no-effect-exit)`,
    )
  const choice = { whenUnavailable: flags.unavailable, ...(ttlMs !== undefined && { ttlMs }) }
  const commandRun: CommandRun = {
    keepMs: undefined,
    ...what,
    namespace: flags.namespace,
    waitMs: flags.wait === undefined ? undefined : parseDuration(flags.wait, { maxMs: LIMITS.waitMaxMs }),
    queueing: flags.queue,
    maxHoldMs: flags.maxHold === undefined ? undefined : parseDuration(flags.maxHold, { minMs: 1, maxMs: HOLD_MAX_MS }),
    revision: flags.revision,
    force: flags.force ?? false,
    permanentExits: flags.permanentExit ?? [],
    noEffectExit,
    skipExit: flags.skipExit ?? 0,
  }
  return withBaton(flags, context, (baton) => runCommand(baton, commandRun, context), choice)
}

const TIME_STANDS_STILL =
  'what this store keeps by --per ages only while some process has it open: from a timer use a server, or the work is never due again'

/** Whether time passes for the store only while somebody has it open. */
function timeStandsStill(flags: OnceFlags, context: CliContext): boolean {
  const { stores } = context
  try {
    const { store } = chosenBy(flags, context)
    return store !== undefined && stores.isShared(store) && !stores.hasClock(store)
  } catch {
    // A URL that names no store is refused when it is opened.
    return false
  }
}
