import { useSignal } from '@preact/signals'
import type { Deed, Deeds, DeedsProgress } from '../model/actions.ts'
import { Modal } from './modal.tsx'
import { announced, confirming, dashboard } from './state.ts'

/** What is about to be done: what happens is said before it does. */
export interface ConfirmSpec {
  readonly title: string
  readonly happens: readonly string[]
  readonly deeds: readonly Deed[]
  readonly button: string
}

const NAMED = 5

/** Asks, has it done, and says what became of it. */
export function Confirm() {
  const spec = confirming.value
  return spec ? <Confirming key={spec.title} spec={spec} /> : null
}

function Confirming({ spec }: { spec: ConfirmSpec }) {
  const running = useSignal<Deeds | undefined>(undefined)
  const typed = useSignal('')
  const { deeds } = spec
  const isMany = deeds.length > 1
  const close = () => {
    running.value?.stop()
    confirming.value = undefined
  }
  const begin = async (event: Event) => {
    event.preventDefault()
    const run = dashboard.deeds(deeds)
    running.value = run
    await run.run()
    announced.value = summary(run.progress.value)
  }
  if (running.value) return <Running spec={spec} deeds={running.value} onClose={close} />
  return (
    <Modal title={spec.title} onClose={close}>
      <form onSubmit={begin}>
        {spec.happens.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        <ul class="deeds">
          {deeds.slice(0, NAMED).map(({ about }) => (
            <li key={about}>{about}</li>
          ))}
          {deeds.length > NAMED && <li>and {(deeds.length - NAMED).toLocaleString('en')} more</li>}
        </ul>
        {isMany && (
          <p>
            <label for="typed">
              Type <strong>{deeds.length}</strong> to confirm
            </label>
            <input
              id="typed"
              inputMode="numeric"
              autocomplete="off"
              value={typed}
              onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
            />
          </p>
        )}
        <footer>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={isMany && typed.value.trim() !== String(deeds.length)}>
            {spec.button}
          </button>
        </footer>
      </form>
    </Modal>
  )
}

function Running({ spec, deeds, onClose }: { spec: ConfirmSpec; deeds: Deeds; onClose: () => void }) {
  const progress = deeds.progress.value
  const isOver = progress.state !== 'doing'
  return (
    <Modal title={spec.title} onClose={onClose}>
      <progress max={progress.total} value={progress.done} aria-label="Done so far" />
      <p>{isOver ? summary(progress) : `${progress.done} of ${progress.total} …`}</p>
      {progress.failures.length > 0 && (
        <ul class="deeds problem">
          {progress.failures.map(({ code, count, message, about }) => (
            <li key={code}>
              {count} × <code>{code}</code>: {message} First: {about}
            </li>
          ))}
        </ul>
      )}
      <footer>
        {isOver ? (
          <button type="button" class="primary" onClick={onClose} autofocus>
            Close
          </button>
        ) : (
          <button type="button" onClick={() => deeds.stop()}>
            Stop
          </button>
        )}
      </footer>
    </Modal>
  )
}

function summary({ total, done, failures, state }: DeedsProgress): string {
  const failed = failures.reduce((sum, { count }) => sum + count, 0)
  const left = state === 'stopped' ? `, ${total - done} not tried` : ''
  if (failed === 0) return `Done: ${done} of ${total}${left}.`
  return `Done: ${done - failed} of ${total}${left}; ${failed} failed.`
}
