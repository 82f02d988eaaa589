import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand } from '../context.ts'
import { untilStopped } from '../interrupt.ts'
import { renderEvent } from '../print/event-line.ts'
import { say, sayJson } from '../print/say.ts'

interface EventsFlags extends ConnectionFlags {
  readonly json?: boolean
  readonly resource?: string
}

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('events')
    .description('Everything that happens, as it happens, until interrupted.')
    .option('--json', 'one JSON object a line; the first says that the stream has begun, or how the resource stands')
    .option('--resource <resource>', 'only of this one')
  addConnectionOptions(command, context)
    .addHelpText('after', '\nExample:\n  $ baton events --json --resource sha256:abc')
    .action(async ({ json, resource, ...flags }: EventsFlags) => {
      const { namespace } = flags
      const follow = (signal: AbortSignal) =>
        withBaton(flags, context, async (baton) => {
          for await (const event of baton.events({ namespace, resource, signal })) {
            const line = json ? undefined : renderEvent(event)
            if (json) sayJson(context.stdout, event)
            else if (line !== undefined) say(context.stdout, line)
          }
        })
      done(await untilStopped(follow))
    })
}
