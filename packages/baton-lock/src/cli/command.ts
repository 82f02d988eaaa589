import { Argument, type Command, Option } from 'commander'
import { connectionFlags } from './connection.ts'
import type { CliContext } from './context.ts'

/** A flag as it is written, what `--help` says of it, and how its text is read. An `Option` says more, e.g. choices. */
export type Flag = Option | readonly [flag: string, help: string, parse?: Parse]

type Parse = (text: string, before?: never) => unknown

/** All that a command is. To add a flag, add a row to `flags`, and a property to the type of the flags of `run`. */
export interface CommandDefinition {
  readonly name: string
  readonly summary: string
  readonly args?: readonly (readonly [name: string, help?: string, usual?: string])[]
  readonly flags?: readonly Flag[]
  /** Whether it takes the flags that say where Baton is (connection.ts). */
  readonly connects?: true
  /** Replaces the usage that follows from flags and arguments. */
  readonly usage?: string
  readonly helpAfterError?: string
  /** Below the flags in `--help`. */
  readonly notes?: string
  /** The end of `--help`: lines of a shell, and what they print. */
  readonly example?: string
  readonly commands?: readonly CommandDefinition[]
  /** Resolves with the exit code if that is not 0. */
  run?(flags: object, ...args: readonly unknown[]): Promise<number> | Promise<void>
}

/** What a module of commands/ exports for each command. */
export type DefineCommand = (context: CliContext) => CommandDefinition

/** Adds a command to the program. Its exit code is handed to `done`. */
export function addCommand(
  parent: Command,
  definition: CommandDefinition,
  context: CliContext,
  done: (code: number) => void,
): void {
  const { name, summary, args = [], flags = [], connects, usage, helpAfterError, commands = [] } = definition
  const command = parent.command(name).description(summary)
  for (const [argument, help, usual] of args) command.addArgument(new Argument(argument, help).default(usual))
  for (const flag of [...flags, ...(connects ? connectionFlags(context) : [])]) command.addOption(optionOf(flag))
  if (usage !== undefined) command.usage(usage)
  if (helpAfterError !== undefined) command.showHelpAfterError(helpAfterError)
  const help = helpOf(definition)
  if (help !== '') command.addHelpText('after', help)
  for (const each of commands) addCommand(command, each, context, done)
  if (definition.run) {
    command.action(async () => done((await definition.run?.(command.optsWithGlobals(), ...command.processedArgs)) ?? 0))
  }
}

function optionOf(flag: Flag): Option {
  if (flag instanceof Option) return flag
  const [name, help, parse] = flag
  const option = new Option(name, help)
  return parse ? option.argParser(parse as (text: string, before: unknown) => unknown) : option
}

function helpOf({ notes, example }: CommandDefinition): string {
  const shown = example?.split('\n').map((line) => (line === '' ? '' : `  ${line}`))
  return [...(notes === undefined ? [] : ['', notes]), ...(shown ? ['', 'Example:', ...shown] : [])].join('\n')
}

/** For flags that may be repeated. */
export const gather = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]
