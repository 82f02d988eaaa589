import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:net'
import type { Log, Timers } from '@baton-lock/service'

/** For what is no connection: the files of a store, a database. */
const KEPT = 24
/** How often the log says it, at most. */
const EVERY_MS = 60_000

/**
 * A connection for which no descriptor is left is ended without a word to this process, and the files of the store would lack
 * one too. So the last ones are not given to connections: those that come then are ended, and the log says so.
 */
export function keepDescriptors(
  server: Server,
  { log, timers, left = descriptorsLeft }: { log: Log; timers: Timers; left?: () => number | undefined },
): void {
  server.on('listening', () => {
    const descriptors = left()
    if (descriptors !== undefined) server.maxConnections = Math.max(1, descriptors - KEPT)
  })
  let refused = 0
  let isTold = false
  const tell = () => {
    isTold = refused > 0
    if (!isTold) return
    log.error('connections are refused: this process may not open more files; allow it more (ulimit -n)', {
      refused,
      connections: server.maxConnections,
    })
    refused = 0
    timers.after(EVERY_MS, tell)
  }
  server.on('drop', () => {
    refused++
    if (!isTold) tell()
  })
}

/** How many files this process may open beside those that it has; nothing where that is not known. */
function descriptorsLeft(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit) - readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}
