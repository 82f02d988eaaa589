// How long a server takes to be ready with a million kept outcomes and a hundred thousand held locks on its disk, and how
// much memory each of them costs. The directory is written by the store's own code, so that this takes seconds.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

const dist = process.env.BATON_DIST ?? new URL('../dist', import.meta.url).pathname
const OUTCOMES = Number(process.env.BENCH_OUTCOMES ?? 1_000_000)
const LOCKS = Number(process.env.BENCH_LOCKS ?? 100_000)
const SESSIONS = 1_000
const LOG_STEPS = Number(process.env.BENCH_LOG_STEPS ?? 30_000)

const clock = { nowMs: () => Math.floor(performance.timeOrigin + performance.now()) }
const digest = (kind, index) => `sha256:${kind}${String(index).padStart(63, '0')}`
const mega = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`

if (process.argv[3] === 'start') await start(process.argv[4])
else await measure()

async function measure() {
  const directory = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'baton-start-'))
  try {
    await write(directory)
    const size = readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
    console.log(
      `${OUTCOMES} kept outcomes and ${LOCKS} held locks of ${SESSIONS} sessions, ${LOG_STEPS} steps in the log: ${mega(size)}`,
    )
    for (let run = 0; run < 2; run++) {
      const self = fileURLToPath(import.meta.url)
      const args = ['--expose-gc', self, 'file-start', 'start', directory]
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status !== 0) throw new Error(stderr)
      process.stdout.write(stdout)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** In a process of its own, as a server does it. */
async function start(directory) {
  const before = process.memoryUsage().rss
  const begin = performance.now()
  const { openFileStore } = await import(`${dist}/stores/file/index.js`)
  const store = await openFileStore({ directory, clock })
  const readyMs = performance.now() - begin
  const peak = process.memoryUsage().rss
  const { resources, grants, sessions } = await store.counts()
  globalThis.gc()
  await new Promise((resolve) => setTimeout(resolve, 200))
  const rss = process.memoryUsage().rss
  const a = (bytes) => `${mega(bytes)}, ${Math.round((bytes - before) / resources)} bytes a record`
  console.log(
    `ready after ${(readyMs / 1_000).toFixed(2)} s with ${resources} resources, ${grants} grants, ${sessions} sessions; ` +
      `memory ${a(peak)} when ready, ${a(rss)} after a collection`,
  )
  process.exit(0)
}

/** A snapshot as the store would write it, and a log behind it. */
async function write(directory) {
  const { Resident } = await import(`${dist}/stores/resident.js`)
  const { hashOf, nameOf } = await import(`${dist}/stores/shards.js`)
  const { Slot } = await import(`${dist}/stores/slot.js`)
  const { holdingsInText, resourceToText, resourceFromText } = await import(`${dist}/stores/file/resource-text.js`)
  const { SnapshotWriter } = await import(`${dist}/stores/file/snapshot-writer.js`)
  const { nodeDisk } = await import(`${dist}/stores/file/node-disk.js`)
  const { Log } = await import(`${dist}/stores/file/log.js`)
  const { writeFormat } = await import(`${dist}/stores/file/directory.js`)
  const { openFileStore } = await import(`${dist}/stores/file/index.js`)
  const { defaultPolicy } = await import(`${dist}/core/index.js`)

  const disk = nodeDisk({ sync: false })
  const policy = { version: 1, policy: defaultPolicy, configured: defaultPolicy }
  const dormancy = {
    liveLimit: 1,
    toText: resourceToText,
    fromText: resourceFromText,
    holdingsIn: holdingsInText,
  }
  const newResident = () => new Resident({ policy, dormancy })
  const nowMs = clock.nowMs()
  const resident = newResident()
  for (let index = 0; index < SESSIONS; index++) {
    resident.openSession({ session: `session-${index}-5f0c6e0e9a1d`, node: `node-${index}`, ttlMs: 30_000 }, nowMs)
  }
  /** One resource made by real steps; its text serves for all of its kind. */
  const sample = (kind, session) => {
    const one = newResident()
    if (session) one.openSession({ session, node: 'node-000', ttlMs: 30_000 }, nowMs)
    const at = { namespace: 'default', resource: digest(kind, 0) }
    const asker = { operation: kind === 'a' ? 'pull' : 'lock', owner: 'node-000/0123456789abcdef' }
    const ask = {
      type: 'acquire',
      ...asker,
      node: 'node-000',
      hold: '0123456789abcdef',
      ttlMs: 30_000,
      placeTtlMs: 60_000,
    }
    one.step(at, { ...ask, ...(session && { session }) }, nowMs - 70_000)
    if (kind === 'a') {
      const outcome = { outcome: 'success', result: { bytes: 31_415_926 } }
      one.step(at, { type: 'release', ...asker, hold: ask.hold, fence: 1, ...outcome }, nowMs - 70_000)
      one.sweep(10, nowMs)
    }
    const [slot] = one.shards.all()
    return {
      text: one.shards.textOf(slot),
      deadlineMs: one.shards.deadlineMs(slot, at.resource),
      isActive: slot.isActive,
      runsOut: slot.runsOut,
    }
  }
  const place = (kind, index, { text, deadlineMs, isActive, runsOut }) => {
    const resource = digest(kind, index)
    const slot = new Slot(nameOf({ namespace: 'default', resource }), 0)
    const bytes = Buffer.from(text.replaceAll('node-000', `node-${String(index % 1_000).padStart(3, '0')}`))
    slot.setText(bytes, 0, bytes.length)
    slot.isActive = isActive
    slot.runsOut = runsOut
    resident.shards.place({ slot, hash: hashOf(resource), deadlineMs })
  }
  const outcome = sample('a')
  for (let index = 0; index < OUTCOMES; index++) place('a', index, outcome)
  for (let index = 0; index < LOCKS; index++) {
    place('b', index, sample('b', index % 2 === 0 ? `session-${index % SESSIONS}-5f0c6e0e9a1d` : undefined))
  }

  await writeFormat(disk, directory)
  await (await Log.create(disk, { number: 1, path: join(directory, 'log-1') })).trim()
  const header = { nowMs, policy }
  const pause = () => new Promise((resolve) => setImmediate(resolve))
  await new SnapshotWriter({ disk, directory, number: 1, resident, header, pause }).write(Promise.resolve())

  const store = await openFileStore({ directory, clock, disk, logLimit: 2 ** 40 })
  for (let count = 0; count < LOG_STEPS; count += 2_000) {
    const asks = Array.from({ length: 2_000 }, (_, index) => {
      const at = { namespace: 'default', resource: digest('a', (count + index) * 7) }
      const ask = { type: 'acquire', operation: 'pull', node: 'node-1', owner: 'o', hold: 'h', ttlMs: 30_000 }
      return store.step(at, ask)
    })
    await Promise.all(asks)
  }
  // With so many grants a start is followed by a snapshot: a server that has run for some seconds has it.
  while (!readdirSync(directory).includes('snapshot-2')) await pause()
  await store.close()
}
