import type { Baton, ResourceStatus } from '../../client/api.ts'
import { harmlessJson } from '../../protocol/index.ts'
import { beats } from '../beats.ts'
import { addConnectionOptions, type ConnectionFlags, namespaceOf, placeOf, withBaton } from '../connection.ts'
import type { AddCommand, CliContext } from '../context.ts'
import { EXIT } from '../exit.ts'
import { exitOfSignal, untilStopped } from '../interrupt.ts'
import { paintFor } from '../print/paint.ts'
import { renderResource, renderResources } from '../print/resource-view.ts'
import type { WatchEnd } from '../watch/watch-screen.ts'

interface StatusFlags extends ConnectionFlags {
  readonly json?: boolean
  readonly watch?: boolean
}

/** Many events at once are one printing. */
const REPRINT_MS = 50

type Present = ResourceStatus | readonly ResourceStatus[]

export const add: AddCommand = (program, context, done) => {
  const command = program
    .command('status')
    .description('Who holds, who waits and why, who uses what, and what is kept.')
    .argument('[resource]', 'one of them; all that are not idle where absent')
    .option('--json', 'an array of resources, or the one named')
    .option('--watch', 'on a terminal a screen that goes on by itself (? for its keys); else again with every change')
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
      if (flags.watch && isOnScreen(flags, context)) return done(await watchScreen(resource, flags, context))
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

function isOnScreen({ json }: StatusFlags, { stdout, env }: CliContext): boolean {
  return stdout.isTTY === true && !json && env.TERM !== 'dumb'
}

/** It goes on when nobody answers, and says so; only at the beginning that is the end. */
async function watchScreen(resource: string | undefined, flags: StatusFlags, context: CliContext): Promise<number> {
  // It takes its time to load, and most do without.
  const { WatchScreen } = await import('../watch/watch-screen.ts')
  let screen: InstanceType<typeof WatchScreen> | undefined
  const watching = async (baton: Baton) => {
    const options = { namespace: namespaceOf(flags, context), resource, place: placeOf(flags, context) }
    const opened = new WatchScreen(baton, options, context)
    screen = opened
    let end = 'stopped' as WatchEnd
    const code = await untilStopped(async (signal) => {
      end = await opened.run(signal)
    })
    return end === 'interrupt' ? exitOfSignal('SIGINT') : code
  }
  return withBaton(flags, context, watching, {
    whenUnavailable: 'wait',
    onNotice: (notice) => screen?.notice(notice),
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

/** Reads again only when an event says that something has changed. */
async function watch({ read, changes, signal }: Watched, flags: StatusFlags, context: CliContext): Promise<void> {
  for await (const _ of beats(changes, REPRINT_MS)) {
    const present = await read()
    if (signal.aborted) return
    context.stdout.write(rendered(present, flags, context))
  }
}
