import { placed } from '@baton-lock/protocol/stream/placed'
import { oneLine } from '@baton-lock/protocol/text/harmless'
import { processesOf } from '@baton-lock/protocol/text/owner-process'
import { whyText } from '@baton-lock/protocol/text/why-text'
import { useSignal } from '@preact/signals'
import { cutId } from '../../model/cut.ts'
import { type DetailView, QUEUE_PAGE } from '../../model/resource/detail.ts'
import { type Row, whyNow } from '../../model/resource/why.ts'
import { NodeLink } from '../ids.tsx'
import { dashboard } from '../state.ts'
import { Age, nowMs } from '../time.tsx'

/** Who waits, in order: the first page follows what happens, the others every few seconds. */
export function QueueCard({ detail, row }: { detail: DetailView; row: Row }) {
  const page = useSignal(0)
  const { waiting } = row.view
  const pages = Math.max(1, Math.ceil(waiting / QUEUE_PAGE))
  const at = Math.min(page.value, pages - 1)
  const turn = (to: number) => {
    page.value = to
    dashboard.detail.wantsWhole = to > 0
  }
  const places = placed(detail.waiters).slice(at * QUEUE_PAGE, (at + 1) * QUEUE_PAGE)
  return (
    <section class="card queue" aria-labelledby="queue-title">
      <div class="card-head">
        <h2 id="queue-title">In line {waiting > 0 && <span class="count">{waiting.toLocaleString('en')}</span>}</h2>
        {pages > 1 && (
          <div class="pager">
            <button type="button" disabled={at === 0} onClick={() => turn(at - 1)}>
              Before
            </button>
            <span>
              {at + 1} / {pages}
            </span>
            <button type="button" disabled={at === pages - 1} onClick={() => turn(at + 1)}>
              After
            </button>
          </div>
        )}
      </div>
      {waiting === 0 ? <p class="note">Nobody waits.</p> : <Places places={places} row={row} />}
    </section>
  )
}

function Places({ places, row }: { places: ReturnType<typeof placed>; row: Row }) {
  const queues = whyNow(row, nowMs())
  if (places.length === 0) return <p class="note">Reading …</p>
  const { grants, waiters } = row.view
  const processes = processesOf([...places.map(({ waiter }) => waiter), ...grants, ...waiters])
  const hasRevision = places.some(({ waiter }) => waiter.revision !== undefined)
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Those who wait">
      <table>
        <thead>
          <tr>
            <th scope="col">Place</th>
            <th scope="col">Node</th>
            <th scope="col">For</th>
            <th scope="col">Waiting</th>
            {hasRevision && <th scope="col">Revision</th>}
          </tr>
        </thead>
        <tbody>
          {places.map(({ waiter, position }) => {
            const queue = queues.find(({ operation }) => operation === waiter.operation)
            return (
              <tr
                key={`${waiter.operation}\n${waiter.node}\n${waiter.owner}`}
                title={queue && whyText(queue, position)}
              >
                <td>{position.toLocaleString('en')}</td>
                <td>
                  <NodeLink node={waiter.node} chars={28} />
                  {processes.has(waiter) && ` ${processes.get(waiter)}`}
                </td>
                <td>{oneLine(waiter.operation)}</td>
                <td>
                  <Age sinceMs={waiter.sinceMs} />
                </td>
                {hasRevision && <td>{waiter.revision === undefined ? '' : cutId(waiter.revision, 16)}</td>}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
