import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Report } from './pull.ts'

/** What a node in a process of its own says to the demo, and what it waits for before it begins. */
export type NodeMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'report'; readonly report: Report }
  | { readonly type: 'finished' }
export const GO = 'go'

interface ServerProcess {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

export async function startServerProcess(entry: string): Promise<ServerProcess> {
  const child = spawn(process.execPath, [entry, 'serve', '--port', '0', '--store', 'memory:', '--log-level', 'warn'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: ownEnvironment(),
  })
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit')
  const first = await Promise.race([once(lines, 'line'), ended])
  const url = /^baton listening on (\S+)$/.exec(String(first[0]))?.[1]
  if (url === undefined) throw new Error('the server of the demo did not start; its own words are above')
  return { url, pid: child.pid ?? 0, stop: () => end(child, 'SIGTERM') }
}

export interface NodeProcess {
  readonly pid: number
  go(): void
  /** Without a word to anybody, as a machine dies. */
  kill(): Promise<void>
}

export async function startNodeProcess(
  entry: string,
  args: readonly string[],
  onReport: (report: Report) => void,
): Promise<NodeProcess> {
  const child = spawn(process.execPath, [entry, 'demo', ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: ownEnvironment(),
  })
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('a node of the demo did not start; its own words are above')))
    child.on('message', (message: NodeMessage) => {
      if (message.type === 'ready') resolve()
      if (message.type === 'report') onReport(message.report)
    })
  })
  return { pid: child.pid ?? 0, go: () => void child.send(GO), kill: () => end(child, 'SIGKILL') }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** What the user has set for a server or a node of theirs must not change the demo. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const theirs = (name: string) => name.startsWith('BATON_') || name === 'PORT' || name === 'ALLOW_MULTI_NODE_DOWNLOAD'
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !theirs(name)))
}
