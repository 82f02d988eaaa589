import type { AddCommand } from '../context.ts'
import { addRunOptions, type RunFlags, runHelp, runWith } from '../run/flags.ts'

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('lead')
    .description('Run a command as the leader: one at a time, the others stand by and take over.')
    .argument('<name>', 'of what is led')
    .argument('<cmd...>', 'after --: runs while this one leads')
    .usage('[options] <name> -- <cmd...>')
  addRunOptions(command, context, { unavailable: ['wait', 'fail'] })
    .addHelpText(
      'after',
      `
A standby waits. When the leader ends, dies or is cut off, the next one starts the command. A leader that has lost ends
its command (SIGTERM, then SIGKILL) and stands by again. It ends when its command does.
${runHelp}

Example:
  $ baton lead scheduler --ttl 5s -- ./scheduler`,
    )
    .action(async (name: string, cmd: string[], flags: RunFlags) => {
      done(await runWith(flags, { intent: 'lead', operation: 'lead', resource: name, command: cmd }, context))
    })
}
