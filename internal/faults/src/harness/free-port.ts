import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that Linux takes for connections going out: one of these must not take it while its owner is down. */
const FROM = 20_000
const TO = 32_000
const TRIES = 200

/** A port of the loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FROM + Math.floor((TO - FROM) * Math.random())
    if (await isFree(port)) return port
  }
  throw new Error('no port is free')
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
