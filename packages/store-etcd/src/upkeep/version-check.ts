import { StoreUnavailable } from '@baton-lock/store/store'
import type { MemberStatus } from '../etcd.ts'

const LEAST = '3.4.0'
/** From these on, no lease ends before its time (etcd issue 15247). */
const EXACT = ['3.4.31', '3.5.13']

/**
 * A version that is known not to do is thrown, with the sentence that says what to do instead. Says of the others whether their
 * leases never end before their time; those that do not answer are taken to be like the worst.
 */
export function refuseUnfit(members: readonly MemberStatus[]): { readonly areLeasesExact: boolean } {
  const versions = members.map(({ version }) => version)
  for (const version of versions)
    if (version !== undefined && isBefore(version, LEAST))
      throw new StoreUnavailable(`etcd ${version} is too old: ${LEAST} is the least that works`)
  return { areLeasesExact: versions.every((version) => version !== undefined && isExact(version)) }
}

function isExact(version: string): boolean {
  const [sameMinor] = EXACT.filter((each) => minorOf(each) === minorOf(version))
  return !isBefore(version, sameMinor ?? EXACT.at(-1)!)
}

function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}

function isBefore(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) < 0
}
