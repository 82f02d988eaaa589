import type { QueueWait, WaitReason } from '@baton-lock/core'
import { formatDuration } from './duration.ts'
import { oneLine } from './harmless.ts'

/**
 * So many times its usual time, and so long at least, and something that is held is taken for stuck. A cycle that may be one of
 * tasks that have nothing to do with one another has gone by itself after a minute, if anything goes on.
 */
const STUCK = { times: 3, leastMs: 5_000, attempts: 3, cycleMs: 60_000 } as const

/**
 * Why somebody waits, in a sentence for people without its full stop: `held by node-a for 42s, usually 8s; behind 4 others`. Nothing
 * where nothing is known. `position`: of one who waits, 1 for the first in line.
 */
export function whyText({ operation, reasons }: QueueWait, position = 1): string {
  const texts = reasons.map((reason) => reasonText(reason, operation))
  if (position > 1) texts.push(`behind ${position - 1} ${position === 2 ? 'other' : 'others'}`)
  return texts.join('; ')
}

/** One reason. `operation`: for which one waits; that of whoever holds is named where it is another. */
export function reasonText(reason: WaitReason, operation?: string): string {
  const node = 'node' in reason ? oneLine(reason.node) : ''
  const other =
    'operation' in reason && reason.operation !== operation && operation !== undefined
      ? ` (${oneLine(reason.operation)})`
      : ''
  switch (reason.why) {
    case 'held': {
      const usual = reason.usualMs === undefined ? '' : `, usually ${formatDuration(reason.usualMs)}`
      return `held by ${node}${other} for ${formatDuration(reason.forMs)}${usual}`
    }
    case 'unclaimed':
      return `${node}${other} is next and has not claimed its grant yet, which passes on in ${formatDuration(reason.passesOnInMs)}`
    case 'silent':
      return `${node} has not renewed for ${formatDuration(reason.forMs)}, its lease ends in ${formatDuration(reason.expiresInMs)}`
    case 'paused':
      return `paused after a failure${other}, attempt ${reason.attempt} begins in ${formatDuration(reason.forMs)}`
    case 'cycle':
      return cycleText(reason)
  }
}

type Cycle = Extract<WaitReason, { why: 'cycle' }>

/**
 * `node-a and node-b wait for one another: node-a holds x and waits for y, node-b holds y and waits for x`, and what to do. Where each
 * may do the two in tasks of its own, nobody knows here whether that is so.
 */
function cycleText({ links, certain }: Cycle): string {
  const key = ({ operation, resource }: { readonly operation: string; readonly resource: string }) =>
    operation === 'lock' ? oneLine(resource) : `${oneLine(resource)} (${oneLine(operation)})`
  const nodes = links.map(({ node }) => oneLine(node))
  const all = `${nodes.slice(0, -1).join(', ')} and ${nodes.at(-1)}`
  const each = links.map(({ holds, waitsFor }, at) => `${nodes[at]} holds ${key(holds)} and waits for ${key(waitsFor)}`)
  const advice = 'revoke one of these grants, and have every task ask for them in the same order'
  return certain
    ? `${all} wait for one another: ${each.join(', ')}; ${advice}`
    : `${all} may wait for one another: ${each.join(', ')}; if one task of each does both, ${advice}`
}

/**
 * Whether somebody should look at it: the holder is silent, or takes much longer than usual, or one attempt after another
 * fails. A long wait behind work that takes its usual time is none of that.
 */
export function isStuck(queues: readonly QueueWait[]): boolean {
  return queues.some(({ reasons }) => reasons.some(isStuckBy))
}

function isStuckBy(reason: WaitReason): boolean {
  switch (reason.why) {
    case 'held':
      return reason.forMs >= STUCK.leastMs && reason.forMs > STUCK.times * (reason.usualMs ?? Infinity)
    case 'silent':
      return true
    case 'paused':
      return reason.attempt > STUCK.attempts
    case 'cycle':
      return reason.certain || reason.forMs >= STUCK.cycleMs
    case 'unclaimed':
      return false
  }
}
