// Loaded into a server before its own program (`--expose-gc --import`): on SIGUSR2 it collects, and writes its heap to descriptor 3.
import { writeSync } from 'node:fs'

process.on('SIGUSR2', () => {
  globalThis.gc()
  globalThis.gc()
  writeSync(3, `${process.memoryUsage().heapUsed}\n`)
})
