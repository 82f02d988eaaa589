import type { Facts, Turn } from '../turn.ts'
import type { Grant, Waiter } from './state.ts'

/** One who asks: a node, and one actor on it. The same owner from another node is somebody else. */
interface Actor {
  readonly node: string
  readonly owner: string
}

/** An actor as a command names it: without a node, it may be of any that the asker may act for. */
export interface ActorName {
  readonly node?: string | undefined
  readonly owner: string
}

/** Who may act for whom is decided here and nowhere else. */
export function mayActFor({ actsFor }: Facts, node: string): boolean {
  return actsFor === undefined || actsFor.includes(node) || actsFor.some((pattern) => matchesNode(pattern, node))
}

/** A pattern is the id of a node, or the beginning of ids and `*`. */
export function matchesNode(pattern: string, node: string): boolean {
  const prefix = nodePrefix(pattern)
  return prefix === undefined ? pattern === node : node.startsWith(prefix)
}

/** How the nodes of a pattern begin; `undefined` if it is the id of one. */
export function nodePrefix(pattern: string): string | undefined {
  return pattern.endsWith('*') ? pattern.slice(0, -1) : undefined
}

export function isNamed(facts: Facts, actor: Actor, name: ActorName): boolean {
  if (actor.owner !== name.owner) return false
  return name.node === undefined ? mayActFor(facts, actor.node) : name.node === actor.node
}

/** The grant of an operation, if it is that of this actor. */
export function grantOf(turn: Turn, operation: string, name: ActorName): Grant | undefined {
  const grant = turn.resource.grants.get(operation)
  return grant && isNamed(turn, grant, name) ? grant : undefined
}

export function waiterOf(
  turn: Turn,
  operation: string,
  name: ActorName,
  isWanted: (waiter: Waiter) => boolean = () => true,
): Waiter | undefined {
  const { waiters } = turn.resource
  if (waiters.size === 0) return undefined
  return waiters.ofOwner(operation, name.owner).find((waiter) => isNamed(turn, waiter, name) && isWanted(waiter))
}

/** There is somebody of this name, but only of nodes that the asker may not act for. */
export function isOnlyOthers(turn: Turn, operation: string, name: ActorName): boolean {
  const { resource, actsFor } = turn
  if (name.node !== undefined || actsFor === undefined) return false
  if (grantOf(turn, operation, name) || waiterOf(turn, operation, name)) return false
  const isThere = resource.grants.get(operation)?.owner === name.owner
  return isThere || resource.waiters.ofOwner(operation, name.owner).length > 0
}
