import { LIMITS } from '../../protocol/index.ts'
import type { AddCommand } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { addRunOptions, addSkipOptions, type RunFlags, runWith, skipHelp } from '../run/flags.ts'

interface OnceFlags extends RunFlags {
  readonly per?: string
}

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
      done(await runWith(flags, { intent: 'once', operation: 'once', resource: name, command: cmd, keepMs }, context))
    })
}
