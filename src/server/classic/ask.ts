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
  const fields = fieldsOf(input)
  return {
    operation: idOf('type', fields.type),
    resource: idOf('resource_id', fields.resource_id),
    node: idOf('node_id', fields.node_id),
  }
}

export function keyOf(input: unknown): ClassicKey {
  const fields = fieldsOf(input)
  return { operation: idOf('type', fields.type), resource: idOf('resource_id', fields.resource_id) }
}

/** The node, where one is named: it may be absent or empty, but nothing else than an id. */
export function optionalNodeOf(input: unknown): string | undefined {
  const node = fieldsOf(input).node_id
  return node === undefined || node === '' ? undefined : idOf('node_id', node)
}

export function addressOf({ resource }: ClassicKey) {
  return { namespace: NAMESPACE, resource }
}

/** The ask in the words of the service. */
export function placeOf({ operation, resource, node }: ClassicAsk) {
  return { namespace: NAMESPACE, resource, operation, node, owner: node, hold: SHARED_HOLD }
}

/** All that the classic paths ask for. */
interface Fields {
  readonly type?: unknown
  readonly resource_id?: unknown
  readonly node_id?: unknown
  readonly error?: unknown
  readonly success?: unknown
}

export function fieldsOf(input: unknown): Fields {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new Refusal('bad-request', 'Send a JSON object with type, resource_id and node_id.')
  }
  return input
}

function idOf(field: string, value: unknown): string {
  if (typeof value === 'string' && isId(value)) return value
  throw new Refusal('bad-request', `${field}: must be 1 to 512 bytes of text without control characters.`)
}
