import type { Place as AnyPlace } from '../protocol/index.ts'

/** A place of this client: its node is always known. */
export type Place = AnyPlace & { readonly node: string }

/** The hold id where the owner is made for this one ask. */
export const ONLY_HOLD = '1'

export function isSamePlace(a: AnyPlace, b: AnyPlace): boolean {
  return (
    a.owner === b.owner &&
    a.resource === b.resource &&
    a.operation === b.operation &&
    a.node === b.node &&
    a.namespace === b.namespace
  )
}

/** Servers say the node too, but for what was written down before there were nodes: that is no client's of this version. */
export function placeName({ namespace, resource, operation, node, owner }: AnyPlace): string {
  return JSON.stringify([namespace, resource, operation, node, owner])
}
