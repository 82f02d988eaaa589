import { spawn } from 'node:child_process'

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
}

/**
 * Starts CMD with the terminal, or the pipes, of this program.
 *
 * `ownGroup`: CMD leads a process group of its own, so that a signal reaches everything that it has started. Not on a
 * terminal: CMD would lose it, and there Ctrl-C reaches the whole group by itself.
 */
export function startChild(
  [file = '', ...args]: readonly string[],
  { env, ownGroup }: { readonly env: NodeJS.ProcessEnv; readonly ownGroup: boolean },
): Child {
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
  return {
    pid: child.pid,
    ended,
    kill(signal) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
      try {
        process.kill(ownGroup ? -child.pid : child.pid, signal)
      } catch {
        // It has ended in the meantime.
      }
    },
  }
}
