import { StoreUnavailable } from '../store.ts'
import type { MemberStatus } from './etcd.ts'
import { foundIn } from './found.ts'
import { onceOn } from './once.ts'
import { refuseUnfit } from './server.ts'
import type { Meta } from './store-state.ts'

const MIB = 1024 * 1024
/** What etcd takes where nothing else is said with `--quota-backend-bytes`. */
const USUAL_QUOTA = 2 * 1024 * MIB
const NEARLY_FULL = 0.8
/** A database that is much larger than what is in it wants to be defragmented. */
const SPARSE = 0.5

interface Checked {
  readonly isSound: boolean
  readonly findings: readonly string[]
}

/** Whether an etcd will do, how full it is, and what is in it. Changes nothing; what will not do is thrown. */
export async function checkEtcdStore(url: string): Promise<Checked> {
  return onceOn(url, async ({ etcd, keys }) => {
    refuseUnfit(await etcd.status())
    const members = await etcd.status()
    const alarms = await etcd.alarms()
    const ranges = [
      keys.heads,
      keys.sessions,
      keys.processes,
      keys.allMail,
      { key: keys.prefix, end: `${keys.prefix.slice(0, -1)}0` },
    ]
    const { outcomes } = await etcd.txn({
      compare: [],
      success: [{ range: { key: keys.meta } }, ...ranges.map((range) => ({ range: { ...range, countOnly: true } }))],
    })
    const [meta, resources, sessions, processes, mail, all] = outcomes.map((outcome) => foundIn(outcome))
    const findings = members.flatMap(saidOf)
    findings.push(...alarms.map(alarmText))
    if (meta!.count === 0) findings.push(`there is no store under ${keys.prefix} yet: the first start makes it`)
    else {
      const { format, floor } = JSON.parse(meta!.kvs[0]!.value) as Meta
      findings.push(
        `a store of format ${format} under ${keys.prefix}: ${resources!.count} resources, ${sessions!.count} sessions, ` +
          `${processes!.count} processes, ${mail!.count} letters on their way, ${all!.count} keys in all` +
          (floor > 0 ? `; fences go on above ${floor}` : ''),
      )
    }
    const areAllThere = members.every(({ error }) => error === undefined)
    return { isSound: alarms.length === 0 && areAllThere, findings }
  })
}

function saidOf({ endpoint, error, version, dbBytes = 0, dbInUseBytes = 0, isLeader }: MemberStatus): string[] {
  if (error !== undefined) return [`${endpoint} does not answer: ${error}`]
  const share = dbBytes / USUAL_QUOTA
  const sizes = `${mib(dbBytes)} MiB (${mib(dbInUseBytes)} in use), ${Math.round(share * 100)}% of the 2 GiB that etcd takes by default`
  const said = [`${endpoint}: etcd ${version}${isLeader ? ', the leader' : ''}, ${sizes}`]
  if (share > NEARLY_FULL) {
    said.push(
      `${endpoint} is nearly full, unless it was started with --quota-backend-bytes: beyond it, nothing can be granted; ` +
        'compact and defragment it (`etcdctl defrag`), or raise the quota',
    )
  } else if (dbBytes > 100 * MIB && dbInUseBytes < dbBytes * SPARSE)
    said.push(`${endpoint} would shrink: \`etcdctl defrag --endpoints ${endpoint}\`, one member at a time`)
  return said
}

function alarmText(alarm: string): string {
  return alarm === 'NOSPACE'
    ? 'the alarm NOSPACE is raised, so etcd takes no writes and Baton grants nothing: compact and defragment it, or raise ' +
        '--quota-backend-bytes, then `etcdctl alarm disarm`'
    : `the alarm ${alarm} is raised: see etcd's own documentation before anything else is done`
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB)
}

/** For messages of other commands: what is thrown where there is no store. */
export function noStore(prefix: string): StoreUnavailable {
  return new StoreUnavailable(`there is no store under ${prefix} yet: the first start makes it`)
}
