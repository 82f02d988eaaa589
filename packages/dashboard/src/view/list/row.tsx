import type { GrantView } from '@baton-lock/core'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import { isStuck, whyText } from '@baton-lock/protocol/text/why-text'
import { addressOf, type ResourceName } from '../../model/name.ts'
import { progressOf } from '../../model/resource/progress.ts'
import { longestWaitMs, type Row, whyNow } from '../../model/resource/why.ts'
import { hashOf } from '../../model/route.ts'
import { Id } from '../ids.tsx'
import { dashboard, go } from '../state.ts'
import { ageText, nowMs } from '../time.tsx'

interface RowProps {
  readonly name: ResourceName
  readonly index: number
  readonly rowPx: number
}

/** One resource in the list. */
export function RowView({ name, index, rowPx }: RowProps) {
  dashboard.rows.version.value
  const row = dashboard.rows.get(name)
  const address = addressOf(name)
  const route = { page: 'resource', ...address } as const
  const open = ({ target, defaultPrevented }: MouseEvent) => {
    const isText = String(getSelection()) !== ''
    if (!defaultPrevented && !isText && !(target as HTMLElement).closest('a')) go(route)
  }
  return (
    <div
      class={`row ${row ? stateOf(row, nowMs()) : 'gone'}`}
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      style={{ transform: `translateY(${index * rowPx}px)` }}
      onClick={open}
    >
      <div class="c-state" role="cell">
        <StateBadge row={row} />
      </div>
      <div class="c-resource" role="cell">
        <a href={hashOf(route)}>
          <Id id={address.resource} chars={120} />
        </a>
        <span class="second">
          {oneLine(address.namespace)}
          <Why row={row} />
        </span>
      </div>
      {row ? <Cells row={row} /> : null}
    </div>
  )
}

function Cells({ row }: { row: Row }) {
  const { view } = row
  const [grant] = view.grants
  const now = nowMs()
  const waitMs = longestWaitMs(row, now)
  return (
    <>
      <div class="c-holder" role="cell">
        {grant && (
          <>
            <span class="strong">
              {oneLine(grant.node)}
              {view.grants.length > 1 && ` +${view.grants.length - 1}`}
            </span>
            <span class="second">
              {oneLine(grant.operation)} · fence {grant.fence}
            </span>
          </>
        )}
      </div>
      <div class="c-held" role="cell">
        {grant && ageText(now - grant.sinceMs)}
      </div>
      <div class="c-lease" role="cell">
        {grant && <Lease grant={grant} />}
      </div>
      <div class="c-waiting" role="cell">
        {view.waiting > 0 && (
          <>
            <span class="strong">{view.waiting.toLocaleString('en')}</span>
            {waitMs !== undefined && <span class="second">longest {ageText(waitMs)}</span>}
          </>
        )}
      </div>
      <div class="c-references" role="cell">
        {view.references.length > 0 && view.references.length.toLocaleString('en')}
      </div>
      <div class="c-kept" role="cell">
        {view.kept.map(({ operation }) => oneLine(operation)).join(', ')}
      </div>
      <div class="c-progress" role="cell">
        {grant?.progress !== undefined && <ProgressBar grant={grant} />}
      </div>
    </>
  )
}

/** How much of its lease is left, as a bar and in words. */
export function Lease({ grant }: { grant: GrantView }) {
  const { expiresAtMs, renewedAtMs } = grant
  if (expiresAtMs === undefined) return <span class="second">not known</span>
  const leftMs = Math.max(0, expiresAtMs - nowMs())
  const share = renewedAtMs === undefined ? 1 : leftMs / Math.max(1, expiresAtMs - renewedAtMs)
  return (
    <span class={`lease ${share < 0.34 ? 'low' : ''}`}>
      <span>{ageText(leftMs)}</span>
      <svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width={100 * Math.min(1, share)} height="4" />
      </svg>
    </span>
  )
}

export function ProgressBar({ grant }: { grant: GrantView }) {
  const { share, text } = progressOf(grant.progress ?? null)
  return (
    <span class="progress">
      <span class="second" title={text}>
        {text}
      </span>
      {share !== undefined && (
        <svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect width={100 * share} height="4" />
        </svg>
      )}
    </span>
  )
}

function Why({ row }: { row: Row | undefined }) {
  if (!row || row.view.waiting === 0) return null
  const [queue] = whyNow(row, nowMs())
  const text = queue ? whyText(queue) : ''
  return text === '' ? null : <span class="why"> · {text}</span>
}

type RowState = 'stuck' | 'paused' | 'unclaimed' | 'held' | 'waiting' | 'kept' | 'referenced' | 'idle'

const STATE_WORDS: Record<RowState, string> = {
  stuck: 'stuck',
  paused: 'paused',
  unclaimed: 'hand-over',
  held: 'held',
  waiting: 'waiting',
  kept: 'kept',
  referenced: 'in use',
  idle: 'idle',
}

/** In one word what there is of it. */
function stateOf(row: Row, now: number): RowState {
  const { view } = row
  if (view.waiting > 0 && isStuck(whyNow(row, now))) return 'stuck'
  if (view.grants.some(({ claimed }) => claimed)) return 'held'
  if (view.grants.length > 0) return 'unclaimed'
  if (view.pauses.length > 0 && view.waiting > 0) return 'paused'
  if (view.waiting > 0) return 'waiting'
  if (view.kept.length > 0) return 'kept'
  return view.references.length > 0 ? 'referenced' : 'idle'
}

export function StateBadge({ row }: { row: Row | undefined }) {
  const state = row ? stateOf(row, nowMs()) : 'idle'
  return (
    <span class={`badge ${state}`}>
      <i aria-hidden="true" />
      {STATE_WORDS[state]}
    </span>
  )
}
