import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { World } from './server-world.ts'

/** A plain connection to a server; `isDeaf`: one that reads nothing. Goes with the test. */
export async function rawSocket({ url }: Pick<World, 'url'>, { isDeaf = false } = {}): Promise<Socket> {
  const { hostname, port } = new URL(await url())
  const socket = connect({ host: hostname, port: Number(port) })
  if (isDeaf) socket.pause()
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

/** All that a connection says from now on, deaf until then or not; resolves when it ends. */
export function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.resume()
  socket.on('data', (chunk) => {
    text += chunk
  })
  return new Promise((resolve) => socket.on('close', () => resolve(text)))
}
