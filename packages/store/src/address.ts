import type { Address } from './store.ts'

/** Quoted, so that no two addresses share a name. */
export function nameOf({ namespace, resource }: Address): string {
  return JSON.stringify([namespace, resource])
}

/** The address that a name stands for. */
export function addressOf(name: string): Address {
  const [namespace, resource] = JSON.parse(name)
  return { namespace, resource }
}

/** FNV-1a over the UTF-16 units. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

/** How many parts there are. */
export const SHARDS = 32

/** Bookkeeping is parted by the resource id alone: all operations of a resource, in every namespace, meet in one part. */
export function shardOf(resource: string): number {
  return hashOf(resource) % SHARDS
}
