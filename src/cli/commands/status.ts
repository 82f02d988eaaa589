import type { Baton, ResourceStatus } from '../../client/api.ts'
import { harmlessJson } from '../../protocol/index.ts'
import { beats } from '../beats.ts'
import { addConnectionOptions, type ConnectionFlags, withBaton } from '../connection.ts'
import type { AddCommand, CliContext } from '../context.ts'
import { EXIT } from '../exit.ts'
import { untilStopped } from '../interrupt.ts'
import { paintFor } from '../print/paint.ts'
import { renderResource, renderResources } from '../print/resource-view.ts'

interface StatusFlags extends ConnectionFlags {
  readonly json?: boolean
  readonly watch?: boolean
}

/** Many events at once are one redraw. */
const REDRAW_MS = 50
const CLEAR = '\u001b[H\u001b[2J\u001b[3J'

type Present = ResourceStatus | readonly ResourceStatus[]

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('status')
    .description('Who holds, who waits, who uses what, and what is kept.')
    .argument('[resource]', 'one of them; all that are not idle where absent')
    .option('--json', 'an array of resources, or the one named')
    .option('--watch', 'again with every change, until interrupted')
  addConnectionOptions(command, context)
    .addHelpText(
      'after',
      `
Example:
  $ baton status sha256:abc
  sha256:abc
    holds       pull  node-a  for 42s   fence 12, lease 24s
    waits       pull  node-b  for 2.9s  1st
    why         pull: held by node-a for 42s, usually 8.0s`,
    )
    .action(async (resource: string | undefined, flags: StatusFlags) => {
      await withBaton(flags, context, async (baton) => {
        const read = () => present(baton, resource, flags)
        if (!flags.watch) {
          context.stdout.write(rendered(await read(), flags, context))
          return done(EXIT.ok)
        }
        const events = (signal: AbortSignal) => baton.events({ namespace: flags.namespace, resource, signal })
        done(await untilStopped((signal) => watch({ read, changes: events(signal), signal }, flags, context)))
      })
    })
}

async function present(baton: Baton, resource: string | undefined, { namespace, json }: StatusFlags): Promise<Present> {
  if (resource !== undefined) {
    const view = await baton.status(resource, { namespace })
    const isWhole = view.waiters.length === view.waiting
    // For programs all of those who wait; people see the first of them.
    return json && !isWhole ? { ...view, waiters: await baton.waiters(resource, { namespace }) } : view
  }
  const views: ResourceStatus[] = []
  for await (const view of baton.list({ namespace })) views.push(view)
  return views
}

function rendered(present: Present, { json }: StatusFlags, { stdout, env }: CliContext): string {
  if (json) return `${harmlessJson(present, stdout.isTTY ? 2 : undefined)}\n`
  const paint = paintFor(stdout, env)
  return 'resource' in present ? renderResource(present, present.nowMs, paint) : renderResources(present, paint)
}

interface Watched {
  read(): Promise<Present>
  readonly changes: AsyncIterable<unknown>
  readonly signal: AbortSignal
}

/** Reads again only when an event says that something has changed; on a terminal the ages go on by themselves. */
async function watch({ read, changes, signal }: Watched, flags: StatusFlags, context: CliContext): Promise<void> {
  const { stdout } = context
  const onScreen = stdout.isTTY === true && !flags.json
  let present: Present = []
  const draw = () => stdout.write((onScreen ? CLEAR : '') + rendered(present, flags, context))
  let ages: NodeJS.Timeout | undefined
  try {
    for await (const _ of beats(changes, REDRAW_MS)) {
      present = await read()
      if (signal.aborted) return
      draw()
      if (onScreen) ages ??= setInterval(draw, 1_000)
    }
  } finally {
    clearInterval(ages)
  }
}
