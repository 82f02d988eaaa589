import type { Readable, Writable } from 'node:stream'
import type { Command } from 'commander'
import type { ServeConfig } from './config/serve-config.ts'

export interface RunningServer {
  readonly url: string
  /** Takes tokens and certificates anew from their files; where it `isAsked` to, it also goes on in a new audit file, and says so. */
  reload(options: { readonly isAsked: boolean }): void
  /** What the operator should know, in the server's own log. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void
  /** Has streams go elsewhere, answers what was asked, flushes the state; resolves after ten seconds at the latest. */
  stop(): Promise<void>
}

/** What only main.ts can wire, as the command line knows neither server nor stores. */
interface Wiring {
  /** Starts a server and resolves when it answers. */
  serve(config: ServeConfig): Promise<RunningServer>
  readonly stores: KnownStores
  readonly storeMaintenance: StoreMaintenance
  /** The file that this program was started from, to start it once more. */
  readonly entry: string
  readonly version: string
}

/** Which stores there are. A URL that names none of them is a `TypeError`. */
interface KnownStores {
  /** How their URLs look, as a part of a sentence: `file:DIR, mysql://… or memory:`. */
  readonly examples: string
  /** The same, of those that several processes share. */
  readonly sharedExamples: string
  /** Whether several processes share the store that a URL names: then it goes without a server. */
  isShared(url: string): boolean
  /** Whether time passes for it though no process has it open. */
  hasClock(url: string): boolean
}

/** What an operator does with a store, all but `backup` while no server has it open; each says in sentences what was found or done. */
export interface StoreMaintenance {
  check(url: string): Promise<string>
  repair(url: string): Promise<string>
  'raise-fences'(url: string, options: { readonly by?: number }): Promise<string>
  backup(url: string, options: { readonly to: string }): Promise<string>
  restore(url: string, options: RestoreChoice): Promise<string>
  /** `print`: only says what it would do. */
  migrate(url: string, options: { readonly print: boolean }): Promise<string>
}

/** What becomes of a backup. */
interface RestoreChoice {
  readonly from: string
  /** Puts aside what is there. */
  readonly force?: boolean
  /** It is to be a store beside the original. */
  readonly asCopy?: boolean
  readonly by?: number
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

/** Where keys come from. */
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }

/** Everything that a command uses of the world around it. */
export interface CliContext extends Wiring {
  readonly env: NodeJS.ProcessEnv
  /** To touch it is to open it, and a program that is run by this one may want it: only by whoever reads keys. */
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
}

/** A command adds itself to the program and hands its exit code to `done`. */
export type AddCommand = (program: Command, context: CliContext, done: (code: number) => void) => void
