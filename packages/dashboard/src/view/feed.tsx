import type { Event } from '@baton-lock/core'
import { eventText } from '@baton-lock/protocol/text/event-text'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import type { FeedItem } from '../model/feed.ts'
import { progressOf } from '../model/resource/progress.ts'
import { hashOf } from '../model/route.ts'
import { Icon } from './icons.tsx'
import { Id } from './ids.tsx'
import { dashboard } from './state.ts'
import { clockText } from './time.tsx'

const SHOWN = 60

/** What happens, beside the list. */
export function FeedPanel() {
  return (
    <aside class="feed card" aria-label="Events">
      <FeedHead />
      <FeedList items={dashboard.feed.items.value.slice(0, SHOWN)} />
    </aside>
  )
}

/** The same on a page of its own, with more of it. */
export function EventsPage() {
  return (
    <section class="feed card wide" aria-label="Events">
      <h1 class="unseen">Events</h1>
      <FeedHead />
      <FeedList items={dashboard.feed.items.value} />
    </section>
  )
}

function FeedHead() {
  const { feed } = dashboard
  const isPaused = feed.isPaused.value
  return (
    <div class="feed-head">
      <h2>Events</h2>
      {isPaused && <span class="note">{feed.waiting.value.toLocaleString('en')} more</span>}
      <button type="button" class="plain" aria-pressed={isPaused} onClick={() => feed.pause(!isPaused)}>
        <Icon name={isPaused ? 'play' : 'pause'} />
        {isPaused ? 'Go on' : 'Pause'}
      </button>
    </div>
  )
}

export function FeedList({ items, isOfOne = false }: { items: readonly FeedItem[]; isOfOne?: boolean }) {
  if (items.length === 0) return <p class="note pad">Nothing has happened since this page was opened.</p>
  return (
    <ol class="events" tabIndex={0} aria-label="Events, newest first">
      {items.map(({ number, event, omitted, alike }) => (
        <li key={number} class={`event ${kindOf(event)}`}>
          <time>{clockText(event.atMs)}</time>
          <i aria-hidden="true" />
          <span>
            {!isOfOne && (
              <a href={hashOf({ page: 'resource', ...event })}>
                <Id id={event.resource} chars={80} />
              </a>
            )}
            <span class="what">
              {'operation' in event && <em>{oneLine(event.operation)}</em>} {textOf(event)}
              {alike > 0 && ` (and ${alike.toLocaleString('en')} more like it)`}
            </span>
            {omitted > 0 && <span class="omitted">{omitted.toLocaleString('en')} before it are not shown</span>}
          </span>
        </li>
      ))}
    </ol>
  )
}

/** What a holder says of its progress is said as its bar says it. */
function textOf(event: Event): string {
  return event.type === 'progress' ? `${oneLine(event.node)}: ${progressOf(event.progress).text}` : eventText(event)
}

function kindOf(event: Event): string {
  if (event.type === 'granted') return event.handOver ? 'hand-over' : 'granted'
  if (event.type === 'ended') return event.outcome.outcome
  if (event.type === 'told') return event.answer.status
  return event.type
}
