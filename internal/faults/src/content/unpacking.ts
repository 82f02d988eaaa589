/** One row of `ctr snapshot ls`. */
interface Snapshot {
  readonly key: string
  /** Empty where there is none. */
  readonly parent: string
}

/** A key may hold blanks, as that of a snapshot does which is still being filled: the header says where columns begin. */
export function snapshotsOf([header = '', ...rows]: readonly string[]): Snapshot[] {
  const parentAt = header.indexOf('PARENT')
  const kindAt = header.indexOf('KIND')
  return rows.map((row) => ({ key: row.slice(0, parentAt).trim(), parent: row.slice(parentAt, kindAt).trim() }))
}

/** The keys in an order in which they can be removed: a snapshot that is another's parent cannot. */
export function childrenFirst(snapshots: readonly Snapshot[]): string[] {
  const parents = new Map(snapshots.map(({ key, parent }) => [key, parent]))
  const depth = (key: string): number => {
    const parent = parents.get(key)
    return parent === undefined ? 0 : 1 + depth(parent)
  }
  return [...parents.keys()].sort((one, other) => depth(other) - depth(one))
}

const MS_OF: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1, µs: 1e-3, ns: 1e-6 }

/** What containerd has logged as the time that it took to apply layers, summed up. */
export function appliedMs(log: string): number {
  const durations = [...log.matchAll(/msg="diff applied" d="?([^\s"]+)/g)].map(([, duration]) => duration!)
  return durations.map(msOf).reduce((sum, each) => sum + each, 0)
}

/** Of a duration as Go writes it: `1m2.5s`, `140.1ms`. */
function msOf(duration: string): number {
  const parts = [...duration.matchAll(/([\d.]+)(h|ms|m|s|µs|ns)/g)]
  return parts.map(([, count, unit]) => Number(count) * MS_OF[unit!]!).reduce((sum, each) => sum + each, 0)
}
