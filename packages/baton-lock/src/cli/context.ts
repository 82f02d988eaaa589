import type { Writable } from 'node:stream'
import type { ServeConfig } from './config/serve-config.ts'

export interface RunningServer {
  readonly url: string
  /** Reads tokens and certificates from their files again. If an operator asked for it (`isAsked`), also reopens the audit file and logs the reload. */
  reload(options: { readonly isAsked: boolean }): void
  /** What the operator should know, in the server's own log. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void
  /** Has streams go elsewhere, answers what was asked, flushes the state; resolves after ten seconds at the latest. */
  stop(): Promise<void>
}

/** Wired by program.ts, because the command line imports neither the server nor the stores. */
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
  /** Whether several processes share the store that a URL names. Such a store can be used without a server. */
  isShared(url: string): boolean
  /** Whether time passes for it though no process has it open. */
  hasClock(url: string): boolean
}

/** Maintenance of a store that no server has open. Each resolves with sentences about what was found or done. */
export interface StoreMaintenance {
  check(url: string): Promise<string>
  'raise-fences'(url: string, options: { readonly by?: number }): Promise<string>
  /** `to`: a file. */
  backup(url: string, options: { readonly to: string }): Promise<string>
  /** Saves the backup that a server sends. */
  saveBackup(chunks: AsyncIterable<Uint8Array>, options: { readonly to: string }): Promise<string>
  restore(url: string, options: RestoreChoice): Promise<string>
  /** `print`: only says what it would do. */
  create(url: string, options: { readonly print: boolean }): Promise<string>
}

/** What becomes of a backup. */
interface RestoreChoice {
  readonly from: string
  /** Moves what is there aside. */
  readonly force?: boolean
  /** The store is to run beside the original. */
  readonly asCopy?: boolean
  readonly by?: number
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

/** Everything that a command uses of the world around it. */
export interface CliContext extends Wiring {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: Output
  readonly stderr: Output
}
