import { Command } from 'commander'
import { addDemo } from './commands/demo.ts'
import { addEvents } from './commands/events.ts'
import { addPolicy } from './commands/policy.ts'
import { addRefs } from './commands/refs.ts'
import { addRevoke } from './commands/revoke.ts'
import { addRun } from './commands/run.ts'
import { addServe } from './commands/serve.ts'
import { addStatus } from './commands/status.ts'
import { addStore } from './commands/store.ts'
import type { AddCommand, CliContext } from './context.ts'
import { EXIT, exitOf } from './exit.ts'

const commands: readonly AddCommand[] = [
  addServe,
  addRun,
  addStatus,
  addRefs,
  addRevoke,
  addEvents,
  addPolicy,
  addStore,
  addDemo,
]

/** Runs one command line and resolves with its exit code. Whatever goes wrong ends here, as a sentence and a code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  let code: number = EXIT.ok
  const program = newProgram(context)
  for (const add of commands) add(program, context, (exit) => (code = exit))
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    const exit = exitOf(error)
    if (exit.sentence !== '') context.stderr.write(`baton: ${exit.sentence}\n`)
    if (context.env.BATON_DEBUG && error instanceof Error) context.stderr.write(`${error.stack}\n`)
    return exit.code
  }
}

function newProgram({ stdout, stderr, version }: CliContext): Command {
  return new Command('baton')
    .description('An outcome-aware distributed lock: the work is done once, and everybody who waited is told.')
    .version(version, '-V, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'baton: ')),
    })
    .showHelpAfterError('Say `baton --help`, or `baton COMMAND --help`, for how it is written.')
    .addHelpText(
      'after',
      `
Start here:
  $ baton demo                                      eight nodes, twenty layers, each fetched once
  $ baton serve                                     a server on 127.0.0.1:8086
  $ baton run pull sha256:abc -- ./fetch sha256:abc run it once in the whole cluster`,
    )
}
