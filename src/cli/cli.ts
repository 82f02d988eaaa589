import { Command } from 'commander'
import type { AddCommand, CliContext } from './context.ts'
import { EXIT, exitOf } from './exit.ts'
import { sayText } from './print/say.ts'

/** In the order of `baton --help`. Only the one that is asked for is loaded: it shows in how long it takes to start. */
const commands: Readonly<Record<string, () => Promise<{ readonly add: AddCommand }>>> = {
  serve: () => import('./commands/serve.ts'),
  lock: () => import('./commands/lock.ts'),
  once: () => import('./commands/once.ts'),
  lead: () => import('./commands/lead.ts'),
  run: () => import('./commands/run.ts'),
  forget: () => import('./commands/forget.ts'),
  status: () => import('./commands/status.ts'),
  refs: () => import('./commands/refs.ts'),
  revoke: () => import('./commands/revoke.ts'),
  events: () => import('./commands/events.ts'),
  policy: () => import('./commands/policy.ts'),
  token: () => import('./commands/token.ts'),
  store: () => import('./commands/store.ts'),
  content: () => import('./commands/content.ts'),
  demo: () => import('./commands/demo.ts'),
}

/** Runs one command line and resolves with its exit code. Whatever goes wrong ends here, as a sentence and a code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let code: number = EXIT.ok
  try {
    const program = newProgram(context)
    for (const { add } of await commandsFor(args[0])) add(program, context, (exit) => (code = exit))
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    const exit = exitOf(error)
    if (exit.sentence !== '') sayText(context.stderr, `baton: ${exit.sentence}\n`)
    if (context.env.BATON_DEBUG && error instanceof Error) sayText(context.stderr, `${error.stack}\n`)
    return exit.code
  }
}

/** Where it is not clear which one is meant, all of them: help, and suggestions for what is misspelt. */
function commandsFor(name: string | undefined): Promise<{ readonly add: AddCommand }[]> {
  const named = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
  return Promise.all((named ? [named] : Object.values(commands)).map((load) => load()))
}

function newProgram({ stdout, stderr, version }: CliContext): Command {
  return new Command('baton')
    .description('An outcome-aware distributed lock: the work is done once, and everybody who waited is told.')
    .version(version, '-V, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => sayText(stdout, text),
      writeErr: (text) => sayText(stderr, text),
      outputError: (text, print) => print(text.replace(/^error: /, 'baton: ')),
    })
    .showHelpAfterError('Say `baton --help`, or `baton COMMAND --help`, for how it is written.')
    .addHelpText(
      'after',
      `
Start here:
  $ baton demo                                       eight nodes, twenty layers, each fetched once
  $ baton serve                                      a server on 127.0.0.1:8086
  $ baton once nightly --per 20h -- ./nightly.sh     once in the whole cluster, and again after 20 hours
  $ baton lock deploy -- ./deploy.sh                 one at a time
  $ baton lead scheduler -- ./scheduler              one runs, the others stand by`,
    )
}
