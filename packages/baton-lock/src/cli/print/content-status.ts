import type { ContentStatus } from '@baton-lock/containerd/serve'
import { formatDuration, oneLine } from '@baton-lock/protocol'
import { columns } from './layout.ts'

/** How a node's content store stands, for people. */
export function renderContentStatus(status: ContentStatus, nowMs: number): string {
  const { node, isCoordinated, uses, fetched, saved, uncoordinated, pending, absentNodes } = status
  const rows = [
    ['lock', isCoordinated ? 'answers' : 'does NOT answer: pulls go on without it, or wait, as configured'],
    ['uses', `${blobs(uses.blobs)}, ${formatBytes(uses.bytes)}`],
    ['fetched', `${blobs(fetched.gets)}, ${formatBytes(fetched.bytes)}`],
    ['saved', `${saved.gets} GETs, ${formatBytes(saved.bytes)} that other nodes had fetched`],
    ...(uncoordinated > 0 ? [['uncoordinated', `${blobs(uncoordinated)} fetched without asking`]] : []),
    ...(pending > 0 ? [['untold', `${pending} changes that the lock server has yet to be told`]] : []),
    ...(absentNodes.length > 0 ? [['absent', `the folders of ${absentNodes.join(', ')} are not there`]] : []),
  ]
  const ingests = status.ingests.map(({ ref, digest, stage, offset, total, startedAtMs }) => [
    stage,
    digest ?? ref,
    progress(offset, total),
    `for ${formatDuration(nowMs - startedAtMs)}`,
  ])
  const pulls = status.pulls.map(({ digest, node: by, bytes, total, sinceMs, waiting }) => [
    digest,
    `by ${by}`,
    bytes === undefined ? '' : progress(bytes, total ?? 0),
    `for ${formatDuration(nowMs - sinceMs)}`,
    waiting.length === 0 ? '' : `waited for by ${waiting.join(', ')}`,
  ])
  return [
    oneLine(node),
    ...indented(rows),
    ...(ingests.length > 0 ? ['coming in here', ...indented(ingests)] : []),
    ...(pulls.length > 0 ? ['fetched in the cluster', ...indented(pulls)] : []),
    '',
  ].join('\n')
}

function indented(rows: readonly (readonly string[])[]): string[] {
  return columns(rows).map((line) => `  ${line}`)
}

function blobs(count: number): string {
  return count === 1 ? '1 blob' : `${count} blobs`
}

function progress(bytes: number, total: number): string {
  if (total === 0) return formatBytes(bytes)
  return `${formatBytes(bytes)} of ${formatBytes(total)} (${Math.floor((100 * bytes) / total)} %)`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function formatBytes(bytes: number): string {
  let unit = 0
  let amount = bytes
  for (; amount >= 1024 && unit < UNITS.length - 1; unit++) amount /= 1024
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`
}
