import type { AddReference, DropNode, ReleaseReference } from './command.ts'
import { areReferencesInDoubt } from './contradiction.ts'
import { NOBODY } from './event.ts'
import { CORE_LIMITS } from './limits.ts'
import { operationOf } from './policy.ts'
import { type ReferencesReply, refused } from './reply.ts'
import { addReference as add } from './state.ts'
import type { Turn } from './turn.ts'

export function addReference(turn: Turn, command: AddReference): ReferencesReply {
  if (areReferencesInDoubt(turn)) return refused('busy')
  if (!mayReference(turn, command.node)) return refused('quota-exceeded')
  reference(turn, command.node)
  return countOf(turn)
}

export function releaseReference(turn: Turn, command: ReleaseReference): ReferencesReply {
  dereference(turn, command.node)
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

/** 'This node uses this resource.' */
export function reference(turn: Turn, node: string): void {
  if (turn.resource.references.has(node)) return
  add(turn.resource, node)
  emitChange(turn, 'referenced', node)
}

/** When the last reference goes, nothing vouches any longer for the successes that gave references. */
export function dereference(turn: Turn, node: string): void {
  const { resource, policy } = turn
  if (!resource.references.delete(node)) return
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
  for (const node of [...turn.resource.references]) dereference(turn, node)
}

function countOf(turn: Turn): ReferencesReply {
  return { status: 'references', count: turn.resource.references.size }
}
