import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built product as processes of its own, each ended by its pid. */

export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface End {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly pid: number
  readonly ended: Promise<End>
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
}

const children = new Set<ChildProcess>()

export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  return startProgram(process.execPath, [MAIN, ...args], { env })
}

/** Any program beside the product, e.g. one that uses it. */
export function startProgram(
  program: string,
  args: readonly string[],
  { env = {}, cwd }: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Running {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run \`npm run build\` first`)
  const child = spawn(program, args, {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
  })
  children.add(child)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
  })
  // `exit`, not `close`: what a killed run has started may live on and keep the pipes open.
  const ended = new Promise<End>((resolve) =>
    child.on('exit', (code) => setTimeout(() => resolve({ code, stdout, stderr }), 20)),
  )
  void ended.then(() => children.delete(child))
  return {
    pid: child.pid ?? 0,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => void child.kill(signal),
  }
}

/** Runs one command line to its end. */
export function baton(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<End> {
  return start(args, env).ended
}

export interface TestServer {
  readonly url: string
  readonly process: Running
  /** Runs a command line against this server. */
  baton(...args: string[]): Promise<End>
  start(...args: string[]): Running
  stop(): Promise<End>
}

export async function startServer(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<TestServer> {
  const server = start(['serve', '--port', '0', '--store', 'memory:', ...args], env)
  const listening = until('the server listens', () => /^baton listening on (\S+)\n/.exec(server.stdout())?.[1])
  const died = server.ended.then(({ code, stderr }) => {
    throw new Error(`the server ended with ${code}: ${stderr}`)
  })
  died.catch(() => {})
  const url = await Promise.race([listening, died])
  const own = { BATON_SERVER: url }
  return {
    url,
    process: server,
    baton: (...args) => baton(args, own),
    start: (...args) => start(args, own),
    stop() {
      server.kill('SIGTERM')
      return server.ended
    },
  }
}

/** An entry of a server's log. */
export interface LogEntry extends Readonly<Record<string, unknown>> {
  readonly level: string
  readonly message: string
}

/** The log of a server, as it has written it to stderr so far. */
export function logIn(stderr: string): LogEntry[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line) as LogEntry)
}

/** What is worse in it than that it has started, or stops. */
export function troubleIn(stderr: string): LogEntry[] {
  return logIn(stderr).filter(({ level }) => level === 'warn' || level === 'error')
}

/** Resolves with the first value that is not undefined or false. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const endMs = Date.now() + 15_000
  while (Date.now() < endMs) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`it did not happen within 15 s that ${what}`)
}

/** A folder of the test's own, for what its commands write. */
export function openFolder() {
  const path = mkdtempSync(join(tmpdir(), 'baton-cli-'))
  return {
    path: (name: string) => join(path, name),
    read: (name: string) => (existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : ''),
    remove: () => rmSync(path, { recursive: true }),
  }
}

/** What a test that failed has left. */
export function killRest(): void {
  for (const child of children) child.kill('SIGKILL')
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  const ours = (name: string) => name.startsWith('BATON_') || name === 'PORT' || name === 'ALLOW_MULTI_NODE_DOWNLOAD'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours(name)))
}
