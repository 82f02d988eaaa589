import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { performance } from 'node:perf_hooks'

/** What the process uses of its machine. */
export interface ProcessFigures {
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly heapBytes: number
  readonly startedSeconds: number
  /** Nothing where the system does not say so at once: to list them takes longer the more there are. */
  readonly openFiles: number | undefined
  readonly maxFiles: number | undefined
}

let maxFiles: number | undefined

export async function processFigures(): Promise<ProcessFigures> {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  maxFiles ??= readMaxFiles()
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: rss,
    heapBytes: heapUsed,
    startedSeconds: performance.timeOrigin / 1_000,
    openFiles: await countOpenFiles(),
    maxFiles,
  }
}

/** Since Linux 6.2 the size of the directory is how many there are. */
async function countOpenFiles(): Promise<number | undefined> {
  const size = await stat('/proc/self/fd').then(
    (found) => found.size,
    () => 0,
  )
  return size > 0 ? size : undefined
}

function readMaxFiles(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}
