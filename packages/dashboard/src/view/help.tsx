import { Modal } from './modal.tsx'
import { isHelpOpen } from './state.ts'

const KEYS = [
  ['/', 'search'],
  ['↑ ↓', 'the resource above, or below'],
  ['Page ↑ ↓, Home, End', 'further up and down the list'],
  ['Enter', 'open the resource'],
  ['← →', 'in the timeline: the grant before, or after'],
  ['Escape', 'back to the list; in the search: empty it'],
  ['?', 'these keys'],
]

export function Help() {
  if (!isHelpOpen.value) return null
  const close = () => {
    isHelpOpen.value = false
  }
  return (
    <Modal title="Keys" onClose={close}>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <button type="button" onClick={close}>
          Close
        </button>
      </footer>
    </Modal>
  )
}
