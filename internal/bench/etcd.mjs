// The etcd store on three members, on one disk and with etcd's defaults: cycles beside the lock of `etcd3`, a hot key, hand-overs
// across servers, and very many waiters. `--parts cycles,hot-key,hand-over,waiters` chooses some of these.
import { join } from 'node:path'
import { cycles } from './etcd/cycles.mjs'
import { handOver } from './etcd/hand-over.mjs'
import { hotKey } from './etcd/hot-key.mjs'
import { waiters } from './etcd/waiters.mjs'
import { whyMissing, whyNoPeers } from './lib/programs.mjs'
import { startEtcd, temporaryFolder } from './lib/servers.mjs'
import { leftOut } from './lib/statistics.mjs'

export const title = 'On three etcd members: cycles beside the lock of etcd3, a hot key, hand-overs, waiters'
const PARTS = { cycles, 'hot-key': hotKey, 'hand-over': handOver, waiters }

export async function measure({ rounds = 5, seconds = 1.2, parts }) {
  const why = whyMissing('etcd') ?? whyNoPeers()
  if (why) return { rows: [leftOut({ what: 'the etcd store', why })] }
  const asked = parts?.split(',') ?? Object.keys(PARTS)
  const unknown = asked.find((name) => !PARTS[name])
  if (unknown !== undefined) throw new TypeError(`--parts ${unknown}: known are ${Object.keys(PARTS).join(', ')}`)
  const rows = []
  const notes = []
  for (const name of asked) {
    // A cluster for each part, so that none has the data of another.
    const etcd = await startEtcd({ folder: join(temporaryFolder(), 'etcd'), members: 3 })
    try {
      const result = await PARTS[name]({ etcd, rounds, seconds })
      rows.push(...result.rows)
      notes.push(...(result.notes ?? []))
    } finally {
      await etcd.stop()
    }
  }
  return { rows, notes }
}
