// Durable cycles: `baton serve` on a file store beside the lock of `etcd3` on one etcd member, both on the same disk.
import { join } from 'node:path'
import { startLoad } from './lib/load.mjs'
import { whyMissing, whyNoPeers } from './lib/programs.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton, startEtcd, temporaryFolder } from './lib/servers.mjs'
import { compared, leftOut } from './lib/statistics.mjs'

export const title = 'Durable cycles, on a file store, beside the lock of etcd3 on one etcd member'

export async function measure({ rounds = 7, seconds = 2, callers = 256 }) {
  const why = whyMissing('etcd') ?? whyNoPeers()
  if (why) return { rows: [leftOut({ what: 'durable cycles beside etcd3', why })] }
  const folder = temporaryFolder()
  const baton = await startBaton({ store: `file:${join(folder, 'baton')}` })
  const etcd = await startEtcd({ folder: join(folder, 'etcd') })
  const loads = {
    baton: await startLoad({ kind: 'baton', url: baton.url }),
    etcd3: await startLoad({ kind: 'etcd', url: etcd.url }),
  }
  const asking = (load) => () => load.run({ callers, seconds })
  try {
    const subjects = { baton: asking(loads.baton), etcd3: asking(loads.etcd3) }
    const results = await inTurn({ what: `durable, ${callers} callers`, rounds, subjects })
    const of = (name) => results[name].map(({ perSecond }) => perSecond)
    const theirs = { 'etcd3 on etcd': of('etcd3') }
    const wanted = { least: 20 }
    return { rows: [compared({ what: `durable, ${callers} callers`, unit: '/s', mine: of('baton'), theirs, wanted })] }
  } finally {
    await Promise.all([loads.baton, loads.etcd3, baton, etcd].map((each) => each.stop()))
  }
}
