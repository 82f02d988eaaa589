import { Command } from 'commander'
import { addCommand, type DefineCommand } from './command.ts'
import type { CliContext } from './context.ts'
import { EXIT, exitOf } from './exit.ts'
import { sayText } from './print/say.ts'

/** In the order of `baton --help`. Only the one that is asked for is loaded: loading all of them slows every command down. */
const commands: Readonly<Record<string, () => Promise<DefineCommand>>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  lock: async () => (await import('./commands/run.ts')).lock,
  once: async () => (await import('./commands/run.ts')).once,
  lead: async () => (await import('./commands/run.ts')).lead,
  run: async () => (await import('./commands/run.ts')).run,
  forget: async () => (await import('./commands/operator.ts')).forget,
  status: async () => (await import('./commands/status.ts')).status,
  refs: async () => (await import('./commands/operator.ts')).refs,
  revoke: async () => (await import('./commands/operator.ts')).revoke,
  events: async () => (await import('./commands/status.ts')).events,
  policy: async () => (await import('./commands/policy.ts')).policy,
  token: async () => (await import('./commands/token.ts')).token,
  store: async () => (await import('./commands/store.ts')).store,
  content: async () => (await import('./commands/content.ts')).content,
  demo: async () => (await import('./commands/demo.ts')).demo,
}

/** Runs one command line and resolves with its exit code. Whatever goes wrong ends here, as a sentence and a code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let code: number = EXIT.ok
  try {
    const program = newProgram(context)
    for (const define of await commandsFor(args[0])) {
      addCommand(program, define(context), context, (exit) => (code = exit))
    }
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    const exit = exitOf(error)
    if (exit.sentence !== '') sayText(context.stderr, `baton: ${exit.sentence}\n`)
    if (context.env.BATON_DEBUG && error instanceof Error) sayText(context.stderr, `${error.stack}\n`)
    return exit.code
  }
}

/** All of them if none is named: for `--help`, and for suggestions if the name is misspelt. */
function commandsFor(name: string | undefined): Promise<DefineCommand[]> {
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
  $ baton demo                                       three nodes pull six layers, each fetched once
  $ baton serve                                      a server on 127.0.0.1:8086
  $ baton once nightly --per 20h -- ./nightly.sh     once in the whole cluster, and again after 20 hours
  $ baton lock deploy -- ./deploy.sh                 one at a time
  $ baton lead scheduler -- ./scheduler              one runs, the others stand by`,
    )
}
