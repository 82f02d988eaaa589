import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { ContentError, errnoOf } from '../errors.ts'
import type { NodeFolders } from './folders.ts'

/**
 * One process a node's folder. The lock is a socket without a file, of which the kernel keeps one by each name, and which goes
 * with its process, however that ends.
 */
export async function lockNode({ name, host }: NodeFolders): Promise<() => Promise<void>> {
  const { dev, ino } = await stat(host)
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      if (errnoOf(error) !== 'EADDRINUSE') return reject(error)
      reject(new ContentError('bad-config', `${host} is in use by another process of ${name}; end that one first`))
    })
    server.listen({ path: `\0baton-content-${dev}-${ino}` }, resolve)
  })
  server.unref()
  return () => new Promise((resolve) => server.close(() => resolve()))
}
