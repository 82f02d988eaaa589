// Loaded into a server by `--expose-gc --import`: on SIGUSR2 it collects garbage, and writes the size of its heap to descriptor 3.
import { writeSync } from 'node:fs'

process.on('SIGUSR2', () => {
  globalThis.gc()
  globalThis.gc()
  writeSync(3, `${process.memoryUsage().heapUsed}\n`)
})
