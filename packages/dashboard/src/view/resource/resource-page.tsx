import type { GrantView, KeptView, ResourceView, WaiterView } from '@baton-lock/core'
import type { PastGrant } from '@baton-lock/protocol'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import { processesOf } from '@baton-lock/protocol/text/owner-process'
import { shortJson } from '@baton-lock/protocol/text/short-json'
import { isStuck, whyText } from '@baton-lock/protocol/text/why-text'
import { cutId } from '../../model/cut.ts'
import { forgetOf, revokeOf } from '../../model/deed-specs.ts'
import { summaryOf } from '../../model/list/summary.ts'
import type { DetailView } from '../../model/resource/detail.ts'
import { endedOf } from '../../model/resource/ended.ts'
import { nextStep } from '../../model/resource/next-step.ts'
import { type Row, whyNow } from '../../model/resource/why.ts'
import { hashOf } from '../../model/route.ts'
import { FeedList } from '../feed.tsx'
import { Icon } from '../icons.tsx'
import { Copy, Id, NodeLink } from '../ids.tsx'
import { Lease, ProgressBar, StateBadge } from '../list/row.tsx'
import { confirming, dashboard, listRoute } from '../state.ts'
import { Age, Left, nowMs } from '../time.tsx'
import { QueueCard } from './queue.tsx'
import { TimelineCard } from './timeline.tsx'

/** One resource: who holds it, who waits and why, what has become of it before. */
export function ResourcePage() {
  const detail = dashboard.detail.view.value
  if (!detail) return null
  const { address, row, problem } = detail
  return (
    <article class="resource">
      <nav class="crumbs" aria-label="Where this is">
        <a href={hashOf(listRoute())}>
          <Icon name="back" />
          All resources
        </a>
        <span aria-hidden="true">/</span>
        <span>{oneLine(address.namespace)}</span>
      </nav>
      <header class="resource-head">
        <h1>
          <Id id={address.resource} chars={96} />
        </h1>
        {row && <StateBadge row={row} />}
        <Copy text={address.resource} label="Copy id" />
        {row && (
          <Copy
            text={summaryOf(detail, { nowMs: dashboard.clock.nowMs(), link: location.href })}
            label="Copy summary"
          />
        )}
      </header>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {row ? <Content detail={detail} row={row} /> : problem === undefined && <p class="note">Reading …</p>}
    </article>
  )
}

function Content({ detail, row }: { detail: DetailView; row: Row }) {
  const { view } = row
  const items = dashboard.feed.items.value.filter(
    ({ event }) => event.resource === view.resource && event.namespace === view.namespace,
  )
  return (
    <>
      <WhyCard row={row} />
      <div class="grid">
        <HoldersCard view={view} />
        <QueueCard detail={detail} row={row} />
      </div>
      <TimelineCard grants={detail.grants} />
      <div class="grid thirds">
        <ReferencesCard view={view} />
        <KeptCard view={view} />
        <RecentCard view={view} grants={detail.grants} />
      </div>
      <section class="card feed" aria-labelledby="own-events">
        <h2 id="own-events">Events since this page was opened</h2>
        <FeedList items={items} isOfOne />
      </section>
    </>
  )
}

/** The plain answer. */
function WhyCard({ row }: { row: Row }) {
  const { view } = row
  const queues = whyNow(row, nowMs())
  if (queues.length === 0) return <p class="why-card quiet">{quietText(view)}</p>
  return (
    <section class={`why-card ${isStuck(queues) ? 'stuck' : ''}`} aria-labelledby="why-title">
      <h2 id="why-title">Why is this waiting?</h2>
      {queues.map((queue) => {
        const text = whyText(queue)
        const next = nextStep(queue, {
          waiters: view.waiters,
          onSuccess: dashboard.onSuccess(view.namespace, queue.operation),
        })
        return (
          <div key={queue.operation} class="why-queue">
            <p class="why-count">
              <strong>{queue.waiting.toLocaleString('en')}</strong> {queue.waiting === 1 ? 'waits' : 'wait'} for{' '}
              <em>{oneLine(queue.operation)}</em>
            </p>
            <p class="why-text">{text === '' ? 'Nothing that this server knows of keeps it.' : capital(text)}.</p>
            {next !== undefined && <p class="note">{next}</p>}
          </div>
        )
      })}
    </section>
  )
}

function quietText({ grants, kept, references, fence }: ResourceView): string {
  if (grants.length > 0) return 'Nobody waits: whoever holds it is alone.'
  if (kept.length > 0) return 'Nobody holds it or waits for it. Its success is kept: whoever asks for the same skips.'
  if (references.length > 0) return 'Nobody holds it or waits for it; nodes use it.'
  return fence > 0
    ? 'Idle: nobody holds it, waits for it or uses it.'
    : 'Idle, as far as this server knows: there may never have been such a resource.'
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function HoldersCard({ view }: { view: ResourceView }) {
  return (
    <section class="card" aria-labelledby="holders-title">
      <h2 id="holders-title">{view.grants.length > 1 ? `Holders (${view.grants.length})` : 'Holder'}</h2>
      {view.grants.length === 0 && <p class="note">Nobody.</p>}
      {view.grants.map((grant) => (
        <Holder key={grant.fence} view={view} grant={grant} />
      ))}
    </section>
  )
}

function Holder({ view, grant }: { view: ResourceView; grant: GrantView }) {
  const process = processesOf<GrantView | WaiterView>([...view.grants, ...view.waiters]).get(grant)
  return (
    <div class="holder">
      <div class="holder-head">
        <span class="strong">
          <NodeLink node={grant.node} />
        </span>
        {process !== undefined && <span>{process}</span>}
        <span class="tag">{oneLine(grant.operation)}</span>
        {!grant.claimed && <span class="tag amber">not yet claimed</span>}
        <span class="spring" />
        {dashboard.mayAct && (
          <button type="button" class="danger ghost" onClick={() => askToRevoke(view, grant)}>
            Revoke …
          </button>
        )}
      </div>
      <dl class="facts">
        <Fact name="Held for">
          <Age sinceMs={grant.sinceMs} />
        </Fact>
        <Fact name="Lease left">
          <Lease grant={grant} />
        </Fact>
        <Fact name="Fence">{grant.fence}</Fact>
        <Fact name="Attempt">{grant.attempt}</Fact>
        {grant.holds > 1 && <Fact name="Holds">{grant.holds}</Fact>}
        {grant.claimByMs !== undefined && (
          <Fact name="Passes on in">
            <Left untilMs={grant.claimByMs} />
          </Fact>
        )}
        {grant.revision !== undefined && <Fact name="Revision">{cutId(grant.revision, 40)}</Fact>}
        <Fact name="Owner">
          <Id id={grant.owner} chars={16} />
        </Fact>
      </dl>
      {grant.progress !== undefined && <ProgressBar grant={grant} />}
    </div>
  )
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function askToRevoke(view: ResourceView, grant: GrantView): void {
  const first = view.waiters.find(({ operation }) => operation === grant.operation)
  const node = oneLine(grant.node)
  confirming.value = {
    title: `Revoke the grant of ${node}?`,
    happens: [
      `${node} is told that it has lost its grant. ${first ? `${oneLine(first.node)}, the first in line, is granted at once.` : 'Nobody waits, so it becomes free.'}`,
      `Work that does not listen goes on for a while: only what checks the fence is safe from it. If ${node} comes back later, its fence ${grant.fence} is refused.`,
    ],
    deeds: [revokeOf(view, grant)],
    button: 'Revoke it',
  }
}

function ReferencesCard({ view }: { view: ResourceView }) {
  const SHOWN = 60
  return (
    <section class="card" aria-labelledby="references-title">
      <h2 id="references-title">
        Used by {view.references.length > 0 && <span class="count">{view.references.length}</span>}
      </h2>
      {view.references.length === 0 && <p class="note">No node has a reference.</p>}
      <ul class="nodes">
        {view.references.slice(0, SHOWN).map((node) => (
          <li key={node}>
            <NodeLink node={node} chars={32} />
          </li>
        ))}
        {view.references.length > SHOWN && <li>and {view.references.length - SHOWN} more</li>}
      </ul>
    </section>
  )
}

function KeptCard({ view }: { view: ResourceView }) {
  return (
    <section class="card" aria-labelledby="kept-title">
      <h2 id="kept-title">Kept successes</h2>
      {view.kept.length === 0 && <p class="note">None: whoever asks does the work.</p>}
      {view.kept.map((kept) => (
        <div key={kept.operation} class="kept">
          <div class="holder-head">
            <span class="tag">{oneLine(kept.operation)}</span>
            <span>by {oneLine(kept.node)}</span>
            <span class="spring" />
            {dashboard.mayAct && (
              <button type="button" class="danger ghost" onClick={() => askToForget(view, kept)}>
                Forget …
              </button>
            )}
          </div>
          <p class="second">
            <Age sinceMs={kept.atMs} /> ago, good for <Left untilMs={kept.untilMs} /> more, fence {kept.fence}
            {kept.revision !== undefined && `, revision ${cutId(kept.revision, 24)}`}
          </p>
          {kept.result !== undefined && <code class="json">{shortJson(kept.result)}</code>}
          {kept.resultOmitted && <p class="second">its result was too large to be kept</p>}
        </div>
      ))}
    </section>
  )
}

function askToForget(view: ResourceView, kept: KeptView): void {
  confirming.value = {
    title: `Forget the success of ${oneLine(kept.operation)}?`,
    happens: [
      `Whoever asks next does the work again, in place of skipping on what ${oneLine(kept.node)} has done.`,
      view.references.length > 0
        ? 'References stay: an operation that skips while nodes use it goes on to.'
        : 'No node has a reference to it.',
    ],
    deeds: [forgetOf(view, kept)],
    button: 'Forget it',
  }
}

/** What has ended lately: as the timeline has it, which knows more than the last of each operation. */
function RecentCard({ view, grants }: { view: ResourceView; grants: readonly PastGrant[] }) {
  const ended = endedOf(view, grants)
  return (
    <section class="card" aria-labelledby="recent-title">
      <h2 id="recent-title">Last outcomes</h2>
      {ended.length === 0 && <p class="note">Nothing has ended as far as this server has seen.</p>}
      {ended.map(({ operation, node, fence, atMs, outcome, text }) => (
        <div key={fence} class="kept">
          <div class="holder-head">
            <span class="tag">{oneLine(operation)}</span>
            <span>by {oneLine(node)}</span>
          </div>
          <p class={`outcome ${outcome}`}>{text}</p>
          <p class="second">
            <Age sinceMs={atMs} /> ago, fence {fence}
          </p>
        </div>
      ))}
    </section>
  )
}
