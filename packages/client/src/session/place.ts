import type { Place } from '@baton-lock/protocol'

/** The hold id of an owner that was made for one request. */
export const ONLY_HOLD = '1'

export function isSamePlace(a: Place, b: Place): boolean {
  return (
    a.owner === b.owner &&
    a.resource === b.resource &&
    a.operation === b.operation &&
    a.node === b.node &&
    a.namespace === b.namespace
  )
}

/** As JSON, so that two places never have the same name. */
export function placeName({ namespace, resource, operation, node, owner }: Place): string {
  return JSON.stringify([namespace, resource, operation, node, owner])
}
