/*
 * Server-sent events, as text. JSON has no raw newlines, so one `data:` line holds any event.
 */

interface Frame {
  /** Absent: who comes back does not name it. */
  readonly id?: string | undefined
  readonly event: string
  readonly data: unknown
}

export function sseFrame({ id, event, data }: Frame): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** How long a client waits before it connects again. */
export function sseRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`
}

/** A line that clients ignore: it shows that the connection lives. */
export const SSE_HEARTBEAT = ':\n\n'
