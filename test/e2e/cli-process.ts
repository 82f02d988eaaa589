import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROGRAMS } from '@baton-lock/faults/programs'
import { startServe, urlOf } from '@baton-lock/test-support/baton-server'
import { type End, Processes, type Started, type StartOptions } from '@baton-lock/test-support/processes'
import { afterAll, beforeAll } from 'vitest'

/** The built product as processes of its own. */

export type { End } from '@baton-lock/test-support/processes'
export type Running = Started
export const MAIN = PROGRAMS.baton

/** All that a test file has started. */
export const processes = new Processes()

export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  return startProgram(process.execPath, [mainFor(env), ...args], { env })
}

function mainFor({ BATON_HISTORY }: NodeJS.ProcessEnv): string {
  return BATON_HISTORY === undefined ? MAIN : PROGRAMS.recordedServer
}

/** Any program beside the product, e.g. one that uses it. */
export function startProgram(program: string, args: readonly string[], options?: StartOptions): Running {
  requireBuild()
  return processes.start(program, args, options)
}

function requireBuild(): void {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: run \`npm run build\` first`)
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
  /** As a crash would end it. */
  kill(): Promise<void>
}

/** On memory, on any port, unless the flags name others. */
export async function startServer(flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<TestServer> {
  requireBuild()
  const server = startServe([process.execPath, mainFor(env)], ['--store', 'memory:', ...flags], { processes, env })
  const url = await urlOf(server)
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
    kill: () => server.end(),
  }
}

/** A server and a folder for the tests of a file. Both are gone after the last one. */
export function serverOfFile(flags: () => readonly string[] = () => []) {
  const folder = openFolder()
  let started: TestServer
  beforeAll(async () => {
    started = await startServer(flags())
  })
  afterAll(async () => {
    await started.stop()
    killRest()
    folder.remove()
  })
  const server: TestServer = {
    get url() {
      return started.url
    },
    get process() {
      return started.process
    },
    baton: (...args) => started.baton(...args),
    start: (...args) => started.start(...args),
    stop: () => started.stop(),
    kill: () => started.kill(),
  }
  return { server, folder }
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
    /** Returns its path. */
    write: (name: string, text: string) => {
      writeFileSync(join(path, name), text)
      return join(path, name)
    },
    read: (name: string) => (existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8') : ''),
    remove: () => rmSync(path, { recursive: true }),
  }
}

/** What a test that failed has left. */
export function killRest(): void {
  processes.killAll()
}
