import type { StoreKind } from '../kind.ts'
import { StoreUnavailable } from '../store.ts'
import { backupFileStore } from './backup.ts'
import { openFileStore } from './file-store.ts'
import { directoryOf } from './file-url.ts'
import { checkFileStore, repairFileStore } from './maintenance.ts'
import { nodeDisk } from './node-disk.ts'
import { raiseFences } from './raise-fences.ts'
import { restoreFileStore } from './restore.ts'

export const kind: StoreKind = {
  open: (url, { clock, policy, log, onStep, onFound, onSession, sync = true }) =>
    inDirectory(url, (directory) => {
      const disk = nodeDisk({ sync })
      return openFileStore({ directory, clock, policy, log, onStep, onFound, onSession, disk })
    }),
  check: (url) => inDirectory(url, (directory) => checkFileStore(directory)),
  repair: (url) => inDirectory(url, async (directory) => (await repairFileStore(directory)).findings),
  raiseFences: (url, options) => inDirectory(url, (directory) => raiseFences(directory, options)),
  async backup(url, { to, nowMs }) {
    const place = directoryOf(to)
    return inDirectory(url, (directory) => backupFileStore(directory, { to: place, nowMs }))
  },
  async restore(url, options) {
    const from = directoryOf(options.from)
    return inDirectory(url, (directory) => restoreFileStore(directory, { ...options, from }))
  },
  migrate: async () => [
    'a file store is brought to the format of this version when it is opened: there is nothing to do',
  ],
}

async function inDirectory<Result>(url: string, use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = directoryOf(url)
  try {
    return await use(directory)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    // That is not about the directory.
    if (code === 'EMFILE' || code === 'ENFILE') throw cause
    throw new StoreUnavailable(code === undefined ? message : `${directory} cannot be used: ${message}`, { cause })
  }
}
