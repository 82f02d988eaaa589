import { oneLine } from '@baton-lock/protocol/text/harmless'
import { deedsOf, dropNodeOf } from '../../model/deed-specs.ts'
import { isFiltering } from '../../model/list/filter.ts'
import { ROWS_MAX } from '../../model/list/listing.ts'
import { FeedPanel } from '../feed.tsx'
import { confirming, dashboard, listRoute, narrow } from '../state.ts'
import { Attention } from './attention.tsx'
import { Filters } from './filters.tsx'
import { ResourceList } from './resource-list.tsx'
import { Totals } from './totals.tsx'

/** All resources, and how the server is doing. */
export function ListPage() {
  return (
    <>
      <h1 class="unseen">Resources</h1>
      <Totals />
      <Attention />
      <div class="columns">
        <section class="resources card" aria-label="Resources">
          <Filters />
          <ListNote />
          <ResourceList />
        </section>
        <FeedPanel />
      </div>
      <About />
    </>
  )
}

/** How many of how many, and what can be done with them. */
function ListNote() {
  const { filter } = listRoute()
  const { names } = dashboard.selection.value
  const { state, why } = dashboard.listing.loading.value
  const count = names.length.toLocaleString('en')
  const said = isFiltering(filter) ? `${count} of ${dashboard.rows.size.toLocaleString('en')}` : count
  return (
    <div class="list-note">
      <span>
        {said} {names.length === 1 ? 'resource' : 'resources'}
        {state === 'reading' && ', reading …'}
      </span>
      {state === 'some' && (
        <span class="problem">
          There are more than {ROWS_MAX.toLocaleString('en')}: search for the beginning of an id, or choose a namespace
          or a node, to have the server look for the others.
        </span>
      )}
      {state === 'failed' && <span class="problem">The list could not be read: {why}</span>}
      {dashboard.mayAct && names.length > 0 && <ActOnAll />}
    </div>
  )
}

/** For all that the filter shows, where it shows any. */
function ActOnAll() {
  const { filter } = listRoute()
  const { names } = dashboard.selection.value
  const views = names.flatMap((name) => dashboard.rows.get(name)?.view ?? [])
  return (
    <span class="acts">
      {isFiltering(filter) &&
        (['revoke', 'forget'] as const).map((type) => {
          const deeds = deedsOf(views, { type, operation: filter.operation })
          if (deeds.length === 0) return null
          const ask = () => {
            confirming.value = { ...WHAT_HAPPENS[type](deeds.length), deeds }
          }
          return (
            <button key={type} type="button" onClick={ask}>
              {type === 'revoke' ? 'Revoke' : 'Forget'} these {deeds.length.toLocaleString('en')} …
            </button>
          )
        })}
      {filter.node !== '' && (
        <button type="button" onClick={() => askToDrop(filter.node)}>
          Drop node …
        </button>
      )}
    </span>
  )
}

const WHAT_HAPPENS = {
  revoke: (count: number) => ({
    title: `Revoke ${count === 1 ? 'one grant' : `${count} grants`}?`,
    happens: [
      'Each holder is told that it has lost its grant, and the next in line gets it.',
      'Work that does not listen goes on for a while: only what checks the fence is safe from it.',
    ],
    button: 'Revoke',
  }),
  forget: (count: number) => ({
    title: `Forget ${count === 1 ? 'one kept success' : `${count} kept successes`}?`,
    happens: ['Whoever asks next does the work again, in place of skipping it. References stay.'],
    button: 'Forget',
  }),
}

/** All references of a node that is gone for good. */
function askToDrop(node: string): void {
  const namespace = dashboard.who?.namespace
  const where = namespace === undefined ? 'in every namespace' : `in the namespace ${oneLine(namespace)}`
  confirming.value = {
    title: `Drop the node ${oneLine(node)}?`,
    happens: [
      `All of its references go, ${where}, and so does what is kept of its successes.`,
      'Do it for a node that is gone for good: what it still uses may be deleted by others afterwards.',
      'Its grants and places in line are not touched: they end with their leases.',
    ],
    deeds: [dropNodeOf(node, namespace)],
    button: 'Drop it',
  }
}

function About() {
  const overview = dashboard.overview.value
  if (!overview) return null
  return (
    <footer class="about">
      <span>Baton {overview.version}</span>
      <span>store {overview.storeId}</span>
      <span>counting since {new Date(overview.sinceMs).toLocaleString()}</span>
      <button type="button" class="plain text" onClick={() => narrow({ order: { by: 'urgency', isReversed: false } })}>
        Most urgent first
      </button>
    </footer>
  )
}
