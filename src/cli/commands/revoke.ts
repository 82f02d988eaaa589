import { InvalidArgumentError } from 'commander'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { EXIT } from '../exit.ts'
import { say } from '../print/say.ts'

interface RevokeFlags extends ConnectionFlags {
  readonly fence?: number
}

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('revoke')
    .description('Take a grant away from its holder; the next in line goes on.')
    .argument('<operation>', 'e.g. pull')
    .argument('<resource>', 'e.g. a layer digest')
    .option('--fence <n>', 'only if the grant has this fence still', fenceOf)
  addConnectionOptions(command, context)
    .addHelpText(
      'after',
      `
The holder may still be running: it is told, but only the fence keeps a late write of its out.

Example:
  $ baton revoke pull sha256:abc --fence 12`,
    )
    .action(async (operation: string, resource: string, { fence, ...flags }: RevokeFlags) => {
      const revoked = await withBaton(flags, context, (baton) => baton.revoke(operation, resource, { fence }))
      say(context.stdout, `revoked ${operation} ${resource} from ${revoked.node} (fence ${revoked.fence})`)
      done(EXIT.ok)
    })
}

function fenceOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('A fence is a whole number, as `baton status` shows it.')
  return Number(text)
}
