// The cost of durability: acquire and release on the file store, beside the memory store and beside a bare loop that
// appends and syncs, all in one run on the same disk.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { durableStep, openFileStore, openMemoryStore } from 'baton-lock/stores'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'baton-bench-'))
const clock = { nowMs: () => Math.floor(performance.timeOrigin + performance.now()) }

/** Callers that take and release a lock of their own as fast as they get answers. */
async function cycles(store, callers) {
  const until = performance.now() + SECONDS * 1_000
  const start = performance.now()
  let done = 0
  const caller = async (index) => {
    const at = { namespace: 'default', resource: `sha256:${String(index).padStart(64, '0')}` }
    const asker = { operation: 'lock', owner: `owner-${index}` }
    for (let count = 0; performance.now() < until; count++) {
      const hold = `hold-${count}`
      const acquire = { type: 'acquire', ...asker, node: `node-${index}`, hold, ttlMs: 30_000, placeTtlMs: 60_000 }
      const { fence } = await durableStep(store, at, acquire)
      await durableStep(store, at, { type: 'release', ...asker, hold, fence, outcome: 'success' })
      done++
    }
  }
  const sweeping = setInterval(() => void store.sweep(1_000), 20)
  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  clearInterval(sweeping)
  return done / ((performance.now() - start) / 1_000)
}

/** The minimum for two durable commits: append, sync, append, sync. */
function bareCycles() {
  const path = join(folder, 'bare')
  const file = openSync(path, 'w')
  const line = Buffer.alloc(220, 'x')
  const until = performance.now() + SECONDS * 1_000
  const start = performance.now()
  let done = 0
  for (; performance.now() < until; done++) {
    for (let commit = 0; commit < 2; commit++) {
      writeSync(file, line)
      fdatasyncSync(file)
    }
  }
  closeSync(file)
  rmSync(path)
  return done / ((performance.now() - start) / 1_000)
}

async function on(open, callers) {
  const store = await open()
  try {
    return await cycles(store, callers)
  } finally {
    await store.close()
  }
}

let directories = 0
const file = () => openFileStore({ directory: join(folder, `${++directories}`), clock })
const memory = () => openMemoryStore({ clock })
const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]
const rate = (perSecond) => String(Math.round(perSecond)).padStart(8)

try {
  await cycles(memory(), 32)
  console.log(`${ROUNDS} rounds of ${SECONDS} s, medians; a cycle is an acquire and a release`)
  for (const callers of [1, 32, 256]) {
    const runs = { file: [], memory: [], bare: [] }
    // By turns, so that other work of this machine slows all of them.
    for (let round = 0; round < ROUNDS; round++) {
      runs.memory.push(await on(memory, callers))
      runs.file.push(await on(file, callers))
      if (callers === 1) runs.bare.push(bareCycles())
    }
    const [durable, resident] = [median(runs.file), median(runs.memory)]
    const ratio = (durable / resident).toFixed(2)
    const latency = ((callers / durable) * 1_000).toFixed(3)
    console.log(
      `${String(callers).padStart(4)} callers: file ${rate(durable)}/s (${latency} ms a cycle), memory ${rate(resident)}/s, file/memory ${ratio}`,
    )
    if (callers === 1) {
      const bare = median(runs.bare)
      console.log(
        `              bare append and fdatasync, twice: ${rate(bare)}/s (${(1_000 / bare).toFixed(3)} ms); ` +
          `file takes ${(bare / durable).toFixed(2)} of that`,
      )
    }
  }
} finally {
  rmSync(folder, { recursive: true })
}
