import { spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** How CMD ended. */
export type ChildEnd =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'killed'; readonly signal: NodeJS.Signals }
  | { readonly how: 'not-started'; readonly code: 126 | 127; readonly error: string }

export interface Child {
  /** Absent where it could not be started. */
  readonly pid: number | undefined
  /** Never rejects. */
  readonly ended: Promise<ChildEnd>
  kill(signal: NodeJS.Signals): void
  /** Ends what CMD has left behind, where it had a group of its own. To be called once CMD has ended. */
  killRest(): void
}

/**
 * Starts CMD with the terminal, or the pipes, of this program.
 *
 * `ownGroup`: CMD leads a process group of its own, so that a signal reaches everything that it has started. Not on a
 * terminal: CMD would lose it, and there Ctrl-C reaches the whole group by itself. `diesWithUs`: CMD is sent SIGTERM should
 * this program be killed.
 */
export function startChild(
  command: readonly string[],
  {
    env,
    ownGroup,
    diesWithUs,
  }: { readonly env: NodeJS.ProcessEnv; readonly ownGroup: boolean; readonly diesWithUs: boolean },
): Child {
  const [file = '', ...args] = diesWithUs ? dyingWithUs(command, env) : command
  const child = spawn(file, args, { stdio: 'inherit', env, detached: ownGroup })
  const ended = new Promise<ChildEnd>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      // An error of a child that runs is one of `kill`; only one without a pid was never started.
      if (child.pid !== undefined) return
      const missing = error.code === 'ENOENT'
      resolve({ how: 'not-started', code: missing ? 127 : 126, error: missing ? 'command not found' : error.message })
    })
    child.on('exit', (code, signal) =>
      resolve(signal === null ? { how: 'exited', code: code ?? 1 } : { how: 'killed', signal }),
    )
  })
  const { pid } = child
  return {
    pid,
    ended,
    kill(signal) {
      const runs = pid !== undefined && child.exitCode === null && child.signalCode === null
      if (runs) send(ownGroup ? -pid : pid, signal)
    },
    killRest() {
      if (pid !== undefined && ownGroup) send(-pid, 'SIGKILL')
    },
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // It has ended in the meantime.
  }
}

/*
 * Killed with SIGKILL, this program cannot end its CMD. On Linux the kernel can be asked to: `setpriv --pdeathsig`, of
 * util-linux, has CMD sent SIGTERM when its parent dies.
 */
const SETPRIV = ['setpriv', '--pdeathsig', 'TERM', '--'] as const

/** Whether it is there, and knows that option. */
export function deathSignalWorks(): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(false)
  const [file, ...args] = SETPRIV
  return new Promise((resolve) => {
    const trial = spawn(file, [...args, 'true'], { stdio: 'ignore' })
    trial.on('error', () => resolve(false))
    trial.on('exit', (code) => resolve(code === 0))
  })
}

/** A command that is sent SIGTERM when this program dies. One that cannot be started is left to fail by itself. */
function dyingWithUs(command: readonly string[], env: NodeJS.ProcessEnv): readonly string[] {
  return isExecutable(command[0] ?? '', env) ? [...SETPRIV, ...command] : command
}

function isExecutable(file: string, { PATH = '' }: NodeJS.ProcessEnv): boolean {
  const paths = file.includes('/') ? [file] : PATH.split(delimiter).map((folder) => join(folder || '.', file))
  return paths.some((path) => {
    try {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    } catch {
      return false
    }
  })
}
