import type { AddReference, DropNode, ReleaseReference } from '../command.ts'
import { NOBODY } from '../event.ts'
import { CORE_LIMITS } from '../limits.ts'
import { operationOf } from '../policy.ts'
import { type ChangedReply, type ReferencesReply, type Refused, refused } from '../reply.ts'
import { areReferencesInDoubt } from '../rules/contradiction.ts'
import { addReference as add, type ReferenceChanges } from '../state/state.ts'
import { RELEASED_MS, type Turn } from '../turn.ts'

export function addReference(turn: Turn, { node, seen }: AddReference): ReferencesReply | ChangedReply {
  if (areReferencesInDoubt(turn)) return refusedForGood(turn, seen, 'busy')
  if (!mayReference(turn, node)) return refusedForGood(turn, seen, 'quota-exceeded')
  if (seen !== undefined && (turn.resource.changes?.lastRelease ?? Infinity) > seen) return changed(turn)
  reference(turn, node)
  return countOf(turn)
}

/** A copy that came late would be carried out when the reason has gone, long after its sender was told so. */
function refusedForGood(turn: Turn, seen: number | undefined, code: 'busy' | 'quota-exceeded'): Refused {
  if (seen !== undefined) {
    const last = Math.max(changesOf(turn).last, turn.resource.fence) + 1
    turn.resource.changes = { last, lastRelease: last }
  }
  return refused(code)
}

export function releaseReference(turn: Turn, { node, seen }: ReleaseReference): ReferencesReply | ChangedReply {
  if (seen !== undefined && (turn.resource.references.get(node) ?? 0) > seen) return changed(turn)
  dereference(turn, node)
  return countOf(turn)
}

export function dropNode(turn: Turn, command: DropNode): ReferencesReply {
  dereference(turn, command.node)
  for (const [operation, kept] of turn.resource.kept) {
    if (kept.node === command.node) turn.resource.kept.delete(operation)
  }
  return countOf(turn)
}

/** Whether a node may use the resource from now on. */
export function mayReference({ resource, mayReference }: Turn, node: string): boolean {
  if (resource.references.has(node)) return true
  return mayReference && resource.references.size < CORE_LIMITS.references
}

/** 'This node uses this resource.' Said once more, it is a use of its own, which a release from before does not end. */
export function reference(turn: Turn, node: string): void {
  const { resource } = turn
  const isNew = !resource.references.has(node)
  const changes = changesOf(turn)
  const last = Math.max(changes.last, resource.fence) + 1
  resource.changes = { last, lastRelease: changes.lastRelease }
  add(resource, node, last)
  if (isNew) emitChange(turn, 'referenced', node)
}

/** When the last reference goes, nothing vouches any longer for the successes that gave references. */
export function dereference(turn: Turn, node: string): void {
  const { resource, policy } = turn
  if (!resource.references.delete(node)) return
  const last = Math.max(changesOf(turn).last, resource.fence) + 1
  resource.changes = { last, lastRelease: last }
  emitChange(turn, 'dereferenced', node)
  if (resource.references.size > 0) return
  for (const operation of resource.kept.keys()) {
    if (operationOf(policy, operation)?.addsReference) resource.kept.delete(operation)
  }
}

function emitChange(turn: Turn, type: 'referenced' | 'dereferenced', node: string): void {
  const { namespace, id: resource } = turn.resource
  turn.emit({ type, namespace, resource, atMs: turn.nowMs, node }, NOBODY)
}

/** What they vouched for is gone, and so is what came in meanwhile. */
export function dropAllReferences(turn: Turn): void {
  for (const node of [...turn.resource.references.keys()]) dereference(turn, node)
}

/**
 * The present number, to be named in another try. Where nobody uses the resource it is kept until that has come. The numbers
 * of a resource that was forgotten begin anew, above all that were told: every command that names an older one is late.
 */
function changed(turn: Turn): ChangedReply {
  const { resource, nowMs } = turn
  const { last, lastRelease } = changesOf(turn)
  const isUsed = resource.references.size > 0
  resource.changes = { last, lastRelease, ...(!isUsed && { keptUntilMs: nowMs + RELEASED_MS }) }
  return { status: 'changed', seen: last }
}

function changesOf({ resource, fenceFloor }: Turn): ReferenceChanges {
  if (resource.changes) return resource.changes
  const last = Math.max(resource.fence, fenceFloor)
  return { last, lastRelease: last }
}

function countOf(turn: Turn): ReferencesReply {
  return { status: 'references', count: turn.resource.references.size }
}
