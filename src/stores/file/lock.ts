import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { DirectoryInUse } from './errors.ts'
import { holderOf, kernelName, stop, takeName } from './kernel-lock.ts'

export const LOCK_PREFIX = 'lock-'
const TRIES = 4
/** What a Unix socket may be called at most is 108 bytes, 104 elsewhere. */
const LONGEST_NAME = 100

/**
 * One process a directory. Whoever wants it listens on a socket of its own in there and then knocks at all others: the
 * kernel answers for a process that lives, also for one that is stopped or in another container, and for nobody else.
 * Who listens before it knocks cannot overlook another: of two that hold it, the later would have met the earlier. It can be
 * overlooked itself, and its socket removed, by one that knocked before it listened: so it looks whether that is still there.
 * A socket that somebody has removed by hand can no longer be knocked at: so a name that only the kernel has is taken as well.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true })
  const handle = await open(directory, 'r')
  try {
    const kernel = await kernelName(handle)
    for (let tries = 1; ; tries++) {
      const name = `${LOCK_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`
      const server = await listen(pathTo(directory, name, handle.fd))
      const names = await readdir(directory)
      const others = names.filter((each) => each.startsWith(LOCK_PREFIX) && each !== name)
      const living = await firstLiving(others, (other) => pathTo(directory, other, handle.fd))
      const isFirst = living === undefined && names.includes(name)
      const giveBack = isFirst ? await takeName(kernel) : undefined
      if (giveBack !== undefined && giveBack !== 'taken') {
        // Only now: one that looks dead may be about to listen, and it will meet this one.
        for (const other of others) await rm(join(directory, other), { force: true })
        return async () => {
          await giveBack()
          await stop(server)
          await rm(join(directory, name), { force: true })
          await handle.close()
        }
      }
      await stop(server)
      await rm(join(directory, name), { force: true })
      if (tries === TRIES) {
        if (giveBack === 'taken') throw new DirectoryInUse(directory, await holderOf(kernel!))
        if (living === undefined) throw new Error(`${directory} does not keep the socket that says who uses it`)
        throw new DirectoryInUse(directory, Number(living.slice(LOCK_PREFIX.length).split('-')[0]))
      }
      // Two that started at the same moment have met each other, and both step back: one will be first.
      await wait(20 + Math.random() * 80 * tries)
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function firstLiving(names: readonly string[], pathOf: (name: string) => string): Promise<string | undefined> {
  for (const name of names) if (await lives(pathOf(name))) return name
  return undefined
}

function lives(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.on('connect', () => resolve(true))
    // Full of others who knock, too: it lives.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'))
    socket.on('connect', () => socket.destroy())
  })
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    // Later ones, as when there are too many open files to answer a knock, are no reason to end.
    server.on('error', reject)
    server.listen(path, () => {
      server.unref()
      resolve(server)
    })
  })
}

/** A directory with a long path is reached through an open file of this process. */
function pathTo(directory: string, name: string, fd: number): string {
  const path = join(directory, name)
  if (Buffer.byteLength(path) <= LONGEST_NAME || process.platform !== 'linux') return path
  return `/proc/self/fd/${fd}/${name}`
}
