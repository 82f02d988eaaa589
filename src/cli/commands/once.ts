import { LIMITS } from '../../protocol/index.ts'
import { chosenBy } from '../connection.ts'
import type { AddCommand, CliContext } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { say } from '../print/say.ts'
import { addRunOptions, addSkipOptions, type RunFlags, runWith, skipHelp } from '../run/flags.ts'

interface OnceFlags extends RunFlags {
  readonly per?: string
}

const TIME_STANDS_STILL =
  'what this store keeps by --per ages only while some process has it open: from a timer use a server, or the work is never due again'

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('once')
    .description('Run a command once in the whole cluster; where it fails or dies, the next in line runs it.')
    .argument('<name>', 'of the work')
    .argument('<cmd...>', 'after --: exit 0 is success, anything else failure')
    .usage('[options] <name> -- <cmd...>')
    .option(
      '--per <duration>',
      'a success is good for so long from its beginning, e.g. 20h (default: only for those who wait for it)',
    )
  addRunOptions(addSkipOptions(command), context)
    .addHelpText(
      'after',
      `
For a job that several machines start by a timer, say --per: it counts from when the work began, so somewhat less than the
time between two starts. Without it,
a machine whose clock is late finds nobody at work and runs it again. \`baton forget NAME\` has it done again at once.
Only the newest success is kept: with --revision, going back to an older one does the work again.
${skipHelp}

Example:
  $ baton once nightly --per 20h -- ./nightly.sh
  $ baton once migrate:v42 --per 365d -- ./migrate.sh`,
    )
    .action(async (name: string, cmd: string[], flags: OnceFlags) => {
      const keepMs = flags.per === undefined ? undefined : parseDuration(flags.per, { maxMs: LIMITS.keepMaxMs })
      if (keepMs !== undefined && timeStandsStill(flags, context)) say(context.stderr, `baton: ${TIME_STANDS_STILL}`)
      done(await runWith(flags, { intent: 'once', operation: 'once', resource: name, command: cmd, keepMs }, context))
    })
}

/** While nobody has the store open. */
function timeStandsStill(flags: OnceFlags, context: CliContext): boolean {
  const { stores } = context
  try {
    const { store } = chosenBy(flags, context)
    return store !== undefined && stores.isShared(store) && !stores.hasClock(store)
  } catch {
    // One that does not exist is refused where it is opened.
    return false
  }
}
