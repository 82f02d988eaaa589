import type { AddCommand } from '../context.ts'
import { addRunOptions, addSkipOptions, type RunFlags, runWith, skipHelp } from '../run/flags.ts'

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('run')
    .description('Run a command as an operation of the policy table: under a grant, or not at all if it has been done.')
    .argument('<operation>', 'pull, update, delete, or one of the policy table')
    .argument('<resource>', 'what it works on, e.g. a layer digest')
    .argument('<cmd...>', 'after --: exit 0 is success, anything else failure')
    .usage('[options] <operation> <resource> -- <cmd...>')
  addRunOptions(addSkipOptions(command), context)
    .addHelpText(
      'after',
      `${skipHelp}\n\nExample:\n  $ baton run pull sha256:abc --namespace content --wait 10m -- ./fetch sha256:abc`,
    )
    .action(async (operation: string, resource: string, cmd: string[], flags: RunFlags) => {
      done(await runWith(flags, { intent: 'run', operation, resource, command: cmd }, context))
    })
}
