import type { StoreKind } from '../kind.ts'
import { StoreUnavailable } from '../store.ts'
import { backupFileStore } from './backup.ts'
import { nodeDisk } from './disk.ts'
import { openFileStore } from './file-store.ts'
import { checkFileStore, raiseFences } from './maintenance.ts'
import { restoreFileStore } from './restore.ts'

export const kind: StoreKind = {
  open: (url, { clock, policy, log, onStep, onFound, onSession, sync = true }) =>
    inDirectory(url, (directory) => {
      const disk = nodeDisk({ sync })
      return openFileStore({ directory, clock, policy, log, onStep, onFound, onSession, disk })
    }),
  check: (url) => inDirectory(url, (directory) => checkFileStore(directory)),
  raiseFences: (url, options) => inDirectory(url, async (directory) => [await raiseFences(directory, options)]),
  backup: (url, { to }) => inDirectory(url, async (directory) => [await backupFileStore(directory, { to })]),
  restore: (url, options) => inDirectory(url, (directory) => restoreFileStore(directory, options)),
  create: async () => ['a file store needs none of it: the first start makes it'],
}

/** The directory that `file:DIR` names, which may also be written as a file URL. */
export function directoryOf(url: string): string {
  const directory = url.replace(/^file:/, '').replace(/^\/\/(?=\/)/, '')
  if (directory === '' || directory.startsWith('//')) {
    throw new TypeError(`'${url}' names no directory of this machine; write file:DIR, e.g. file:./baton-data`)
  }
  return directory
}

async function inDirectory<Result>(url: string, use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = directoryOf(url)
  try {
    return await use(directory)
  } catch (cause) {
    if (cause instanceof StoreUnavailable) throw cause
    const { code, message } = cause as NodeJS.ErrnoException
    // These say nothing of the directory.
    if (code === 'EMFILE' || code === 'ENFILE') throw cause
    throw new StoreUnavailable(code === undefined ? message : `${directory} cannot be used: ${message}`, { cause })
  }
}
