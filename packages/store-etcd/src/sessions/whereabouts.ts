import type { Change } from '@baton-lock/store/remote'
import type { Known } from '../cache/recollection.ts'
import type { Comparison } from '../etcd.ts'
import { isNotSince, isOf } from '../transaction/comparisons.ts'

interface WhereaboutsOptions {
  /** As of when it was found at which processes they are. */
  readonly revision: number
  /** The comparisons say whether it was right. Where tries have failed it may be that it was not: then every other one goes without it. */
  readonly mayBelieveIndex: boolean
  /** Those that were found alive. */
  readonly alive: ReadonlySet<string>
}

/** Each takes a comparison of its own. */
const SESSIONS = 16
/** Those of more processes are compared all together. */
const PROCESSES = 8

/**
 * That whoever is to be told of these changes is where it will be told. Each session is compared by itself, as far as it is known here where it
 * is. Otherwise none may have left this process or those that are told: then a session that has nothing to do with it is in the way too.
 */
export function whereabouts(
  { index, keys, process }: Known & { readonly process: string },
  changes: readonly Change[],
  { revision, mayBelieveIndex, alive }: WhereaboutsOptions,
): readonly Comparison[] {
  const sessions = new Set(changes.flatMap((change) => change.sessions))
  const told = new Set(changes.flatMap(({ letter }) => letter?.to ?? []))
  const known = Array.from(sessions, (session) => ({ session, at: index.sessions.alive(session) }))
  const isWithoutPlace = known.some(({ at }) => at === undefined)
  const areKnown = known.every(({ session, at }) =>
    at === undefined ? !alive.has(session) : at.value === process || told.has(at.value),
  )
  if (mayBelieveIndex && areKnown && known.length <= SESSIONS)
    return known.map(({ session, at }) => isOf(keys.aliveOne(session), at?.modRevision ?? 0))
  // One that is nowhere may come back anywhere.
  const left =
    told.size > PROCESSES || isWithoutPlace
      ? [keys.allLeft]
      : [process, ...told].map((each) => ({ key: keys.left(each) }))
  return left.map((range) => isNotSince(range, revision))
}
