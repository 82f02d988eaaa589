import { chmod, mkdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { systemClientClock } from '@baton-lock/client/internal'
import type { ContentStore } from '../blobs/content-store.ts'
import { ContentError } from '../errors.ts'
import { methodsOf } from './content-service.ts'
import { createGrpcServer } from './server.ts'

/** Serves a node's store to containerd over a socket that only its user may open. Returns how to stop. */
export async function listenForContainerd(
  store: ContentStore,
  { socketPath, log }: { readonly socketPath: string; readonly log: (sentence: string) => void },
): Promise<() => Promise<void>> {
  await mkdir(dirname(socketPath), { recursive: true })
  if (await answers(socketPath)) {
    throw new ContentError(
      'bad-config',
      `another process listens on ${socketPath}; end that one, or name another socket_path`,
    )
  }
  await rm(socketPath, { force: true })
  const server = createGrpcServer({ methods: methodsOf(store, log), clock: systemClientClock() })
  try {
    await server.listen(socketPath)
  } catch (cause) {
    throw new ContentError('bad-config', `cannot listen on ${socketPath}: ${(cause as Error).message}`, { cause })
  }
  await chmod(socketPath, 0o600)
  return () => server.close()
}

/** A process that was killed leaves its socket behind, and nobody answers there. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
