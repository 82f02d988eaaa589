import type { Comparison } from '../etcd.ts'

type KeyOrRange = Pick<Comparison, 'key' | 'end'>

export function isThere(key: string): Comparison {
  return { key, target: 'create', is: 'greater', revision: 0 }
}

/** None of them, of a range. */
export function isNotThere(keys: string | KeyOrRange): Comparison {
  return { ...rangeOf(keys), target: 'create', is: 'equal', revision: 0 }
}

/** It was written last by that revision; 0: it is not there. */
export function isOf(key: string, revision: number): Comparison {
  return { key, target: 'mod', is: 'equal', revision }
}

/** It is as it was found. */
export function isStill({ key, modRevision }: { readonly key: string; readonly modRevision: number }): Comparison {
  return isOf(key, modRevision)
}

/** None of them was written after that revision. */
export function isNotSince(range: KeyOrRange, revision: number): Comparison {
  return { ...range, target: 'mod', is: 'less', revision: revision + 1 }
}

/** Without what stands twice. */
export function distinct(comparisons: readonly Comparison[]): Comparison[] {
  const nameOf = ({ key, end = '', target, is, revision }: Comparison) => `${target} ${is} ${revision} ${key}\0${end}`
  return [...new Map(comparisons.map((each) => [nameOf(each), each])).values()]
}

function rangeOf(keys: string | KeyOrRange): KeyOrRange {
  return typeof keys === 'string' ? { key: keys } : keys
}
