import type { ResourceView } from '../../core/index.ts'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { EXIT } from '../exit.ts'
import { say } from '../print/say.ts'

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
      const { wasKept, left } = await withBaton(flags, context, async (baton) => ({
        wasKept: await baton.forget(resource, { operation }),
        left: await baton.status(resource),
      }))
      say(context.stdout, wasKept ? `forgot ${operation} ${resource}` : `nothing was kept of ${operation} ${resource}`)
      for (const sentence of stillThere(left, { operation, wasKept })) say(context.stderr, `baton: ${sentence}`)
      done(EXIT.ok)
    })
}

/** What may surprise whoever wanted the work to be done again. */
function stillThere(
  { resource, kept, references }: ResourceView,
  { operation, wasKept }: { readonly operation: string; readonly wasKept: boolean },
): string[] {
  const others = wasKept ? [] : kept.filter((success) => success.operation !== operation)
  const sentences = others.map((other) => `${other.operation} is kept: --operation ${other.operation} forgets it`)
  if (operation !== 'pull' || references.length === 0) return sentences
  const users = references.length === 1 ? '1 node references' : `${references.length} nodes reference`
  return [...sentences, `${users} ${resource}: a pull is still skipped`]
}
