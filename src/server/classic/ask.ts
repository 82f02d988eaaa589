import { SHARED_HOLD } from '../../core/index.ts'
import { isId } from '../../protocol/index.ts'
import { Refusal } from '../refusal.ts'

/** The namespace of every key of the classic paths. */
export const NAMESPACE = 'default'

/** A key of the classic paths. */
export interface ClassicKey {
  readonly operation: string
  readonly resource: string
}

/** Who asks for what. The node is its own owner, and all of its asks share one hold. */
export interface ClassicAsk extends ClassicKey {
  readonly node: string
}

export function askOf(input: unknown): ClassicAsk {
  return { ...keyOf(input), node: idOf(input, 'node_id') }
}

export function keyOf(input: unknown): ClassicKey {
  return { operation: idOf(input, 'type'), resource: idOf(input, 'resource_id') }
}

/** A field that may be absent or empty, but nothing else than an id. */
export function optionalIdOf(input: unknown, field: string): string | undefined {
  const value = fieldOf(input, field)
  return value === undefined || value === '' ? undefined : idOf(input, field)
}

/** The ask in the words of the service. */
export function placeOf({ operation, resource, node }: ClassicAsk) {
  return { namespace: NAMESPACE, resource, operation, node, owner: node, hold: SHARED_HOLD }
}

export function fieldOf(input: unknown, field: string): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new Refusal('bad-request', 'Send a JSON object with type, resource_id and node_id.')
  }
  return Object.hasOwn(input, field) ? (input as Record<string, unknown>)[field] : undefined
}

function idOf(input: unknown, field: string): string {
  const value = fieldOf(input, field)
  if (typeof value === 'string' && isId(value)) return value
  throw new Refusal('bad-request', `${field}: must be 1 to 512 bytes of text without control characters.`)
}
