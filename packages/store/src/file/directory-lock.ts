import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { DirectoryInUse } from './errors.ts'

export const LOCK_PREFIX = 'lock-'
const TRIES = 4
/** The path of a Unix socket may have 108 bytes on Linux, 104 elsewhere. */
const LONGEST_NAME = 100
/** A process that holds a name and does not tell its pid within this time is stopped. */
const ANSWER_MS = 500

/**
 * Locks a directory for this process. The process listens on a Unix socket of its own in the directory, and then connects to all
 * other sockets there. The kernel accepts connections for every process that lives, also for a stopped one and for one in another
 * container, and refuses them for a process that is gone.
 *
 * Every process listens before it connects, so of two processes at least the later one meets the other. A process that connected
 * before this one listened takes its socket for a dead one and removes it: so this one checks that its own socket is still there.
 * And if somebody removes the socket by hand, a name that only the kernel has keeps the directory locked.
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
        // Not earlier: a process whose socket looks dead may be about to listen, and then it meets this one.
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
        if (living === undefined) throw new Error(`${directory} does not keep Unix sockets; use a local file system`)
        throw new DirectoryInUse(directory, Number(living.slice(LOCK_PREFIX.length).split('-')[0]))
      }
      // Two processes that started at the same moment have met each other. Both wait, and one will be first.
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
    // Any other error, such as a full backlog, comes from a process that lives.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'))
    socket.on('connect', () => socket.destroy())
  })
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    // Rejecting has no effect on later errors, such as too many open files.
    server.on('error', reject)
    server.listen(path, () => {
      server.unref()
      resolve(server)
    })
  })
}

/** The path of a socket. If it is too long, it leads through an open file of this process. */
function pathTo(directory: string, name: string, fd: number): string {
  const path = join(directory, name)
  if (Buffer.byteLength(path) <= LONGEST_NAME || process.platform !== 'linux') return path
  return `/proc/self/fd/${fd}/${name}`
}

/**
 * An abstract Unix socket, which the kernel of Linux keeps as long as this process. Its name is made of the directory's inode, so all
 * paths to the directory give the same one. It is in no directory, so nobody can remove it. Containers with a network of their
 * own do not see it. `undefined` on other systems.
 */
async function kernelName(directory: FileHandle): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined
  const { dev, ino } = await directory.stat({ bigint: true })
  return `\0baton-file-store-${dev}-${ino}`
}

/** Returns how to give the name back, or `taken` if another process has it. */
function takeName(name: string | undefined): Promise<(() => Promise<void>) | 'taken'> {
  if (name === undefined) return Promise.resolve(async () => {})
  // A process that wants it too connects, and gets the pid.
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(`${process.pid}`)
  })
  return new Promise((resolve) => {
    server.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE' ? 'taken' : async () => {}))
    server.listen({ path: name, exclusive: true }, () => {
      server.unref()
      resolve(() => stop(server))
    })
  })
}

/** The pid of the process that has a name, or `undefined` if it does not answer because it is stopped. */
function holderOf(name: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(name)
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('data', (text) => {
      said += text
      if (said.length > 10) socket.destroy()
    })
    socket.on('close', () => resolve(/^\d{1,10}$/.test(said) ? Number(said) : undefined))
  })
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
