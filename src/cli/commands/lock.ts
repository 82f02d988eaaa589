import type { AddCommand } from '../context.ts'
import { addRunOptions, type RunFlags, runHelp, runWith } from '../run/flags.ts'

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('lock')
    .description('Run a command under a lock: one at a time in the whole cluster, in the order of asking.')
    .argument('<name>', 'of the lock')
    .argument('<cmd...>', 'after --')
    .usage('[options] <name> -- <cmd...>')
  addRunOptions(command, context)
    .addHelpText(
      'after',
      `
Everybody who asks runs it, one after another. What is to be done once is \`baton once\`.
${runHelp}

Example:
  $ baton lock deploy --wait 10m -- ./deploy.sh`,
    )
    .action(async (name: string, cmd: string[], flags: RunFlags) => {
      done(await runWith(flags, { intent: 'lock', operation: 'lock', resource: name, command: cmd }, context))
    })
}
