import { StoreUnavailable } from '@baton-lock/store/store'
import type { MemberStatus } from '../etcd.ts'
import { foundIn } from '../transaction/found.ts'
import { knownMeta } from './store-state.ts'
import { refuseUnfit } from './version-check.ts'
import { onceOn } from './with-etcd.ts'

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
    const quotas = await Promise.all(members.map(({ endpoint }) => etcd.quota(endpoint)))
    const findings = members.flatMap((member, at) => saidOf(member, quotas[at]))
    findings.push(...alarms.map(alarmText))
    if (meta!.count === 0) findings.push(`there is no store under ${keys.prefix} yet: the first start makes it`)
    else {
      const { format, floor } = knownMeta(meta!.kvs[0]!.value, keys)
      findings.push(
        `a store of format ${format} under ${keys.prefix}: ${counted(resources!.count, 'resource')}, ${counted(sessions!.count, 'session')}, ` +
          `${counted(processes!.count, 'process', 'processes')}, ${counted(mail!.count, 'event')} under way, ${counted(all!.count, 'key')} in all` +
          (floor > 0 ? `; fences go on above ${floor}` : ''),
      )
    }
    const areAllThere = members.every(({ error }) => error === undefined)
    return { isSound: alarms.length === 0 && areAllThere, findings }
  })
}

function saidOf(member: MemberStatus, quota: number | undefined): string[] {
  const { endpoint, error, version, dbBytes = 0, dbInUseBytes = 0, isLeader } = member
  if (error !== undefined) return [`${endpoint} does not answer: ${error}`]
  const share = dbBytes / (quota ?? USUAL_QUOTA)
  const limit = quota === undefined ? 'the 2 GiB that etcd takes by default' : `its quota of ${mib(quota)} MiB`
  const sizes = `${mib(dbBytes)} MiB (${mib(dbInUseBytes)} in use), ${Math.round(share * 100)}% of ${limit}`
  const said = [`${endpoint}: etcd ${version}${isLeader ? ', the leader' : ''}, ${sizes}`]
  if (share > NEARLY_FULL) {
    said.push(
      `${endpoint} is nearly full${quota === undefined ? ', unless it was started with --quota-backend-bytes' : ''}: ` +
        'once it is, nothing can be granted; compact and defragment it (`etcdctl defrag`), or raise its quota (`--quota-backend-bytes`)',
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

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB)
}

/** For messages of other commands: what is thrown where there is no store. */
export function noStore(prefix: string): StoreUnavailable {
  return new StoreUnavailable(`there is no store under ${prefix} yet: the first start makes it`)
}
