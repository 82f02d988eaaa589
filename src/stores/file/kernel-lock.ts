import type { FileHandle } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'

const ANSWER_MS = 500

/**
 * A name that the kernel of Linux keeps for as long as this process has it, and that is in no directory, so nobody can remove
 * it. It belongs to the directory itself, whatever path leads there. Containers with a network of their own do not see it.
 */
export async function kernelName(directory: FileHandle): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined
  const { dev, ino } = await directory.stat({ bigint: true })
  return `\0baton-file-store-${dev}-${ino}`
}

/** How to give the name back; `taken` where another process has it. Where there are no such names it holds nothing. */
export function takeName(name: string | undefined): Promise<(() => Promise<void>) | 'taken'> {
  if (name === undefined) return Promise.resolve(async () => {})
  // Whoever wants it too is told who has it.
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

/** The process that has it; nothing where it does not answer, as one that is stopped. */
export function holderOf(name: string): Promise<number | undefined> {
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

export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
