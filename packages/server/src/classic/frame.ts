import type { ClassicKey } from './ask.ts'

export interface Telling {
  /** Success: who finished. Hand-over: the new holder. */
  readonly node: string
  readonly success: boolean
  readonly error?: string
  readonly atMs: number
}

/** One event of the classic stream: a single line that starts `data: `, its keys in this order. */
export function classicFrame(
  { operation, resource }: ClassicKey,
  { node, success, error = '', atMs }: Telling,
): string {
  const event = {
    type: operation,
    resource_id: resource,
    node_id: node,
    success,
    error,
    completed_at: new Date(atMs).toISOString(),
  }
  return `data: ${JSON.stringify(event)}\n\n`
}
