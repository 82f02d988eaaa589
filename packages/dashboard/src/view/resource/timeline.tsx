import type { PastGrant } from '@baton-lock/protocol'
import { formatDuration } from '@baton-lock/protocol/text/duration'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import {
  type Bar,
  type BarOutcome,
  SPANS,
  type Span,
  type Timeline,
  timelineOf,
} from '../../model/resource/timeline.ts'
import { clockText, nowMs } from '../time.tsx'

const LANE = 56
const BAR = { top: 22, height: 22, least: 5 }
const OUTCOMES: readonly BarOutcome[] = ['success', 'failure', 'expired', 'revoked', 'cancelled', 'running']

/** The last grants of a resource as a picture: who held it when, how that ended, what was handed over and what was skipped. */
export function TimelineCard({ grants }: { grants: readonly PastGrant[] }) {
  const span = useSignal<Span>('last 12')
  const picked = useSignal<number | undefined>(undefined)
  const now = nowMs()
  const timeline = timelineOf(grants, span.value, now)
  const bars = timeline.lanes.flatMap((lane) => lane.bars)
  const pickedBar = bars.find(({ grant }) => grant.fence === picked.value) ?? bars.at(-1)
  return (
    <section class="card timeline" aria-labelledby="timeline-title">
      <div class="card-head">
        <h2 id="timeline-title">History</h2>
        <fieldset class="spans">
          <legend class="unseen">How much of it</legend>
          {SPANS.map((each) => (
            <button key={each} type="button" aria-pressed={span.value === each} onClick={() => (span.value = each)}>
              {each}
            </button>
          ))}
        </fieldset>
      </div>
      {bars.length === 0 ? (
        <p class="note">This server has seen no grant of it in that time.</p>
      ) : (
        <>
          <Picture timeline={timeline} picked={pickedBar} onPick={(bar) => (picked.value = bar.grant.fence)} />
          <p class="picked" aria-live="off">
            {pickedBar?.text}
          </p>
          <Legend />
          <GrantTable grants={grants} now={now} />
        </>
      )}
    </section>
  )
}

interface PictureProps {
  readonly timeline: Timeline
  readonly picked: Bar | undefined
  readonly onPick: (bar: Bar) => void
}

function Picture({ timeline, picked, onPick }: PictureProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useSignal(800)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) width.value = Math.max(280, entry.contentRect.width)
    })
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  const { lanes, ticks } = timeline
  const height = lanes.length * LANE + 22
  const bars = lanes.flatMap((lane) => lane.bars).sort((one, other) => one.grant.fence - other.grant.fence)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    const next = step && picked && bars[bars.indexOf(picked) + step]
    if (!next) return
    event.preventDefault()
    onPick(next)
    box.current?.querySelector<SVGGElement>(`[data-fence="${next.grant.fence}"]`)?.focus()
  }
  return (
    <div ref={box} class="picture" onKeyDown={onKeyDown}>
      <svg
        width={width.value}
        height={height}
        role="group"
        aria-label="Grants over time; the table below says the same"
      >
        <Patterns />
        {ticks.map(({ at, text }) => (
          <g key={text} class="tick">
            <line x1={at * width.value} x2={at * width.value} y1={0} y2={height - 18} />
            <text x={at * width.value} y={height - 5} text-anchor={at > 0.97 ? 'end' : at < 0.05 ? 'start' : 'middle'}>
              {text}
            </text>
          </g>
        ))}
        {lanes.map(({ operation, bars: own }, lane) => (
          <g key={operation} transform={`translate(0 ${lane * LANE})`}>
            <text class="lane" x={0} y={14}>
              {oneLine(operation)}
            </text>
            {own.map((bar) => (
              <BarView key={bar.grant.fence} bar={bar} width={width.value} isPicked={bar === picked} onPick={onPick} />
            ))}
          </g>
        ))}
      </svg>
    </div>
  )
}

interface BarProps {
  readonly bar: Bar
  readonly width: number
  readonly isPicked: boolean
  readonly onPick: (bar: Bar) => void
}

function BarView({ bar, width, isPicked, onPick }: BarProps) {
  const { grant, outcome, waitedFrom, text } = bar
  const x = Math.min(bar.from * width, width - BAR.least)
  const barWidth = Math.max(BAR.least, bar.to * width - x)
  const middle = BAR.top + BAR.height / 2
  const room = Math.floor((barWidth - 12) / 7)
  const pick = () => onPick(bar)
  return (
    <g
      class={`grant-bar ${outcome} ${isPicked ? 'picked' : ''}`}
      tabIndex={isPicked ? 0 : -1}
      role="img"
      aria-label={text}
      data-fence={grant.fence}
      onPointerEnter={pick}
      onFocus={pick}
      onClick={pick}
    >
      <title>{text}</title>
      {isPicked && waitedFrom !== undefined && (
        <line
          class="waited"
          x1={waitedFrom * width}
          x2={x}
          y1={BAR.top + BAR.height + 6}
          y2={BAR.top + BAR.height + 6}
        />
      )}
      <rect class="ground" x={x} y={BAR.top} width={barWidth} height={BAR.height} rx={4} />
      <rect x={x} y={BAR.top} width={barWidth} height={BAR.height} rx={4} fill={`url(#pattern-${outcome})`} />
      {grant.handOver && (
        <path class="hand-over" d={`M${x - 1} ${BAR.top - 4}v${BAR.height + 8}m0 ${-BAR.height - 8}l6 4l-6 4z`} />
      )}
      {room >= 4 && (
        <text class="who" x={x + 8} y={middle + 4}>
          {cut(oneLine(grant.node), room)}
        </text>
      )}
      {grant.skips > 0 && (
        <text class="skips" x={Math.min(x + barWidth, width - 4)} y={BAR.top - 6} text-anchor="end">
          {`↷ ${grant.skips.toLocaleString('en')}`}
        </text>
      )}
    </g>
  )
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1)}…`
}

/** Each outcome has a pattern of its own beside its colour. */
function Patterns() {
  const square = { width: 8, height: 8, patternUnits: 'userSpaceOnUse' } as const
  return (
    <defs>
      <pattern id="pattern-success" {...square} />
      <pattern id="pattern-running" {...square}>
        <path d="M0 4h5" class="ink faint" />
      </pattern>
      <pattern id="pattern-failure" {...square}>
        <path d="M-2 2l4-4M0 8l8-8M6 10l4-4" class="ink" />
      </pattern>
      <pattern id="pattern-expired" {...square}>
        <circle cx="4" cy="4" r="1.6" class="dot" />
      </pattern>
      <pattern id="pattern-revoked" {...square}>
        <path d="M0 0l8 8M8 0l-8 8" class="ink" />
      </pattern>
      <pattern id="pattern-cancelled" {...square}>
        <path d="M4 0v8" class="ink" />
      </pattern>
    </defs>
  )
}

function Legend() {
  return (
    <ul class="legend" aria-label="What the bars mean">
      {OUTCOMES.map((outcome) => (
        <li key={outcome}>
          <svg width="26" height="14" class={`grant-bar ${outcome}`} aria-hidden="true">
            <rect class="ground" width="26" height="14" rx="3" />
            <rect width="26" height="14" rx="3" fill={`url(#pattern-${outcome})`} />
          </svg>
          {outcome}
        </li>
      ))}
      <li>
        <svg width="14" height="14" class="grant-bar" aria-hidden="true">
          <path class="hand-over" d="M3 0v14m0 -14l7 4l-7 4z" />
        </svg>
        handed over
      </li>
      <li>
        <svg width="22" height="14" class="grant-bar" aria-hidden="true">
          <line class="waited" x1="0" x2="22" y1="7" y2="7" />
        </svg>
        in line (of the chosen one)
      </li>
      <li>
        <span class="skips">↷ n</span>so many skipped
      </li>
    </ul>
  )
}

function GrantTable({ grants, now }: { grants: readonly PastGrant[]; now: number }) {
  return (
    <details>
      <summary>As a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Grants as a table">
        <table>
          <thead>
            <tr>
              {['Fence', 'Operation', 'Node', 'Granted', 'Held', 'Outcome', 'In line', 'Attempt', 'Skipped on it'].map(
                (name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {grants.toReversed().map((grant) => (
              <tr key={grant.fence}>
                <td>{grant.fence}</td>
                <td>{oneLine(grant.operation)}</td>
                <td>{oneLine(grant.node)}</td>
                <td>{clockText(grant.grantedAtMs)}</td>
                <td>{formatDuration((grant.endedAtMs ?? now) - grant.grantedAtMs)}</td>
                <td>
                  {grant.outcome ?? 'running'}
                  {grant.error !== undefined && `: ${oneLine(grant.error)}`}
                </td>
                <td>{grant.waitedMs === undefined ? '' : formatDuration(grant.waitedMs)}</td>
                <td>{grant.attempt}</td>
                <td>{grant.skips}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
