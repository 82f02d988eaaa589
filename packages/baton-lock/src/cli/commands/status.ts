import type { Baton, ResourceStatus } from '@baton-lock/client'
import { harmlessJson } from '@baton-lock/protocol'
import type { DefineCommand } from '../command.ts'
import { type ConnectionFlags, namespaceOf, placeOf, withBaton } from '../connection.ts'
import type { CliContext } from '../context.ts'
import { EXIT } from '../exit.ts'
import { untilStopped } from '../interrupt.ts'
import { renderEvent } from '../print/event-line.ts'
import { renderResource, renderResources } from '../print/resource-view.ts'
import { paintFor, say, sayJson } from '../print/say.ts'
import { beats } from '../watch/beats.ts'

interface StatusFlags extends ConnectionFlags {
  readonly json?: boolean
  readonly watch?: boolean
}

const LINGER_MS = 500
/** Many events at once are one printing. */
const REPRINT_MS = 50

type Present = ResourceStatus | readonly ResourceStatus[]

export const status: DefineCommand = (context) => ({
  name: 'status',
  summary: 'Who holds, who waits and why, who uses what, and what is kept.',
  args: [['[resource]', 'one of them; all that are not idle where absent']],
  flags: [
    ['--json', 'an array of resources, or the one named'],
    [
      '--watch',
      'on a terminal a table that refreshes in place until Ctrl-C; elsewhere printed again with every change',
    ],
  ],
  connects: true,
  example: `$ baton status sha256:abc
sha256:abc
  holds       pull  node-a  for 42s   fence 12, lease 24s
  waits       pull  node-b  for 2.9s  1st
  why         pull: held by node-a for 42s, usually 8.0s`,
  run(flags: StatusFlags, resource: string | undefined) {
    if (flags.watch && isOnScreen(flags, context)) return watchScreen(resource, flags, context)
    return withBaton(flags, context, async (baton) => {
      const read = async () => rendered(await present(baton, resource, flags), flags, context)
      if (flags.watch)
        return untilStopped((signal) => showChanges(baton, resource, flags, { read, signal, ...context }))
      context.stdout.write(await read())
      return EXIT.ok
    })
  },
})

function isOnScreen({ json }: StatusFlags, { stdout, env }: CliContext): boolean {
  return stdout.isTTY === true && !json && env.TERM !== 'dumb'
}

async function watchScreen(resource: string | undefined, flags: StatusFlags, context: CliContext): Promise<number> {
  const { watchOnTerminal } = await import('../watch/watch.ts')
  let notice: string | undefined
  const options = {
    namespace: namespaceOf(flags, context),
    resource,
    place: placeOf(flags, context),
    notice: () => notice,
  }
  const onNotice = (text: string) => {
    notice = text
  }
  return withBaton(
    flags,
    context,
    async (baton) => {
      const code = await untilStopped((signal) => watchOnTerminal(baton, options, context, signal))
      // A request to a server that is away must not keep the process alive after Ctrl-C.
      setTimeout(() => process.exit(code), LINGER_MS).unref()
      return code
    },
    { onNotice },
  )
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

/** Reads again only when an event says that something has changed. */
async function showChanges(
  baton: Baton,
  resource: string | undefined,
  { namespace }: StatusFlags,
  { read, signal, stdout }: Pick<CliContext, 'stdout'> & { read(): Promise<string>; readonly signal: AbortSignal },
): Promise<void> {
  for await (const _ of beats(baton.events({ namespace, resource, signal }), REPRINT_MS)) {
    const text = await read()
    if (signal.aborted) return
    stdout.write(text)
  }
}

interface EventsFlags extends ConnectionFlags {
  readonly json?: boolean
  readonly resource?: string
}

export const events: DefineCommand = (context) => ({
  name: 'events',
  summary: 'Everything that happens, as it happens, until interrupted.',
  flags: [
    ['--json', 'one JSON object a line; the first says that the stream has begun, or how the resource stands'],
    ['--resource <resource>', 'only of this one'],
  ],
  connects: true,
  example: '$ baton events --json --resource sha256:abc',
  run({ json, resource, ...flags }: EventsFlags) {
    const { namespace } = flags
    return untilStopped((signal) =>
      withBaton(flags, context, async (baton) => {
        for await (const event of baton.events({ namespace, resource, signal })) {
          const line = json ? undefined : renderEvent(event)
          if (json) sayJson(context.stdout, event)
          else if (line !== undefined) say(context.stdout, line)
        }
      }),
    )
  },
})
