import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { EXIT } from '../exit.ts'

interface ForgetFlags extends ConnectionFlags {
  readonly operation: string
}

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('forget')
    .description('Drop a success that is kept, so that the work is done again.')
    .argument('<resource>', 'the name of the work, or e.g. a layer digest')
    .option('--operation <operation>', 'what was done to it', 'once')
  addConnectionOptions(command, context)
    .addHelpText('after', '\nReferences stay as they are (`baton refs`).\n\nExample:\n  $ baton forget nightly')
    .action(async (resource: string, { operation, ...flags }: ForgetFlags) => {
      const { kept, references } = await withBaton(flags, context, async (baton) => ({
        kept: await baton.forget(resource, { operation }),
        references: (await baton.references.list(resource)).length,
      }))
      context.stdout.write(
        kept ? `forgot ${operation} ${resource}\n` : `nothing was kept of ${operation} ${resource}\n`,
      )
      if (operation === 'pull' && references > 0)
        context.stderr.write(`baton: ${references} nodes reference ${resource}: a pull is still skipped\n`)
      done(EXIT.ok)
    })
}
