import { formatDuration } from '@baton-lock/protocol/text/duration'
import { outcomeText } from '@baton-lock/protocol/text/event-text'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import { whyText } from '@baton-lock/protocol/text/why-text'
import type { DetailView } from '../resource/detail.ts'
import { whyNow } from '../resource/why.ts'

/** A resource in a few lines of plain text: for a chat or a ticket, where others read on. */
export function summaryOf(
  { address, row }: DetailView,
  { nowMs, link }: { readonly nowMs: number; readonly link: string },
): string {
  const lines = [`${oneLine(address.resource)} (namespace ${oneLine(address.namespace)})`]
  if (!row) return [...lines, link].join('\n')
  const { view } = row
  for (const { node, operation, fence, sinceMs, expiresAtMs } of view.grants) {
    const lease = expiresAtMs === undefined ? '' : `, lease ends in ${formatDuration(expiresAtMs - nowMs)}`
    const held = formatDuration(nowMs - sinceMs)
    lines.push(`held by ${oneLine(node)} (${oneLine(operation)}, fence ${fence}) for ${held}${lease}`)
  }
  for (const queue of whyNow(row, nowMs)) {
    const text = whyText(queue)
    lines.push(`${queue.waiting} waiting for ${oneLine(queue.operation)}${text === '' ? '' : `: ${text}`}`)
  }
  for (const { operation, node, outcome, atMs } of view.recent)
    lines.push(
      `last ${oneLine(operation)} by ${oneLine(node)}, ${formatDuration(nowMs - atMs)} ago: ${outcomeText(operation, outcome)}`,
    )
  return [...lines, link].join('\n')
}
