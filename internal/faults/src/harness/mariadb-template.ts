import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { run } from '@baton-lock/test-support/processes'

/** The redo log is a file of this size, and is copied with the rest. */
export const LOG_FILE_SIZE = '16M'

const INSTALL_MS = 60_000

/** Where a program of MariaDB is: administrators have those in their path that others have not. */
export function mariadbProgram(name: string): string {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/libexec']
  const path = folders.map((folder) => join(folder, name)).find((each) => existsSync(each))
  if (path === undefined)
    throw new Error(`${name} is missing: install MariaDB, e.g. \`apt-get install mariadb-server-core\``)
  return path
}

/** MariaDB wants to be told that it is meant to run as root. */
export function userFlags(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : []
}

let template: Promise<string> | undefined

/**
 * A data directory that nobody has written to yet: made by the first that needs it, to be copied by everybody. Several
 * may make one at the same time: the first to finish is taken.
 */
export function dataTemplate(): Promise<string> {
  template ??= makeTemplate()
  return template
}

async function makeTemplate(): Promise<string> {
  const timeoutMs = INSTALL_MS
  const version = await run(mariadbProgram('mariadbd'), ['--no-defaults', '--version'], { timeoutMs })
  const kind = createHash('sha256').update(`${version} ${LOG_FILE_SIZE}`).digest('hex').slice(0, 12)
  const path = join(tmpdir(), `baton-mariadb-template-${userInfo().username}-${kind}`)
  if (existsSync(path)) return path
  const mine = await mkdtemp(`${path}.`)
  const flags = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve', ...userFlags()]
  const sizes = [`--innodb-log-file-size=${LOG_FILE_SIZE}`, '--innodb-buffer-pool-size=64M']
  await run(mariadbProgram('mariadb-install-db'), ['--no-defaults', `--datadir=${mine}`, ...flags, ...sizes], {
    timeoutMs,
  })
  try {
    await rename(mine, path)
  } catch (error) {
    await rm(mine, { recursive: true })
    if (!existsSync(path)) throw error
  }
  return path
}
