import { type Processes, type Started, type StartOptions, startProcess } from './processes.ts'

interface ServeOptions extends StartOptions {
  /** Those that it is ended with. */
  readonly processes?: Processes
}

const LISTENING = /^baton listening on (\S+)\n/m

/** Starts `baton serve` of a build, e.g. `[process.execPath, MAIN]`: on any port, unless the flags name another one. */
export function startServe(command: readonly string[], flags: readonly string[], options: ServeOptions = {}): Started {
  const [program, ...before] = command
  const { processes, ...rest } = options
  const args = [...before, 'serve', '--port', '0', ...flags]
  return processes ? processes.start(program!, args, rest) : startProcess(program!, args, rest)
}

/** Resolves with the URL of a server once it listens. Throws if it ends before, or takes too long. */
export async function urlOf(server: Started, withinMs?: number): Promise<string> {
  return (await server.says(LISTENING, withinMs))[1]!
}
