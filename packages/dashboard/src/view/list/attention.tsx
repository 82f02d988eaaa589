import { isStuck, whyText } from '@baton-lock/protocol/text/why-text'
import { type Row, whyNow } from '../../model/resource/why.ts'
import { hashOf } from '../../model/route.ts'
import { Icon } from '../icons.tsx'
import { Id } from '../ids.tsx'
import { dashboard, narrow } from '../state.ts'
import { nowMs } from '../time.tsx'

const SHOWN = 3

/** What somebody should look at, with why: nothing where there is nothing. */
export function Attention() {
  const now = nowMs()
  const { stuck } = dashboard.selection.value
  if (stuck.length === 0) return null
  const first = stuck.slice(0, SHOWN).flatMap((name) => dashboard.rows.get(name) ?? [])
  return (
    <section class="attention card" aria-label="Needs attention">
      <h2>
        <Icon name="warning" />
        {stuck.length === 1 ? 'One resource looks stuck' : `${stuck.length} resources look stuck`}
      </h2>
      <ul>
        {first.map((row) => (
          <li key={`${row.view.namespace}\n${row.view.resource}`}>
            <a href={hashOf({ page: 'resource', ...row.view })}>
              <Id id={row.view.resource} chars={48} />
            </a>
            <span>{sentence(row, now)}</span>
          </li>
        ))}
      </ul>
      {stuck.length > SHOWN && (
        <button type="button" onClick={() => narrow({ filter: { state: 'stuck' } })}>
          Show all {stuck.length}
        </button>
      )}
    </section>
  )
}

function sentence(row: Row, now: number): string {
  const queues = whyNow(row, now)
  const queue = queues.find((each) => isStuck([each])) ?? queues[0]
  if (!queue) return ''
  const who = queue.waiting === 1 ? '1 waits' : `${queue.waiting} wait`
  return `${who}: ${whyText(queue)}`
}
