import { spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

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
export function dyingWithUs(command: readonly string[], env: NodeJS.ProcessEnv): readonly string[] {
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
