import { isFiltering, NO_FILTER, STATES, type StateFilter } from '../../model/list/filter.ts'
import { Icon } from '../icons.tsx'
import { dashboard, listRoute, narrow } from '../state.ts'

const STATE_TEXT: Record<StateFilter, string> = {
  all: 'All',
  stuck: 'Stuck',
  held: 'Held',
  waiting: 'Waiting',
  kept: 'Kept',
  referenced: 'Referenced',
}

/** What is wanted of the list. It stands in the address, so that it can be sent to others. */
export function Filters() {
  const { filter } = listRoute()
  const { counts, namespaces, operations } = dashboard.selection.value
  return (
    <search class="filters" aria-label="Filter the resources">
      <div class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search ids, namespaces, holders"
          aria-label="Search"
          aria-keyshortcuts="/"
          autocomplete="off"
          spellcheck={false}
          value={filter.text}
          onInput={({ currentTarget }) => narrow({ filter: { text: currentTarget.value } })}
          onKeyDown={onSearchKey}
        />
        <span class="key" aria-hidden="true">
          /
        </span>
      </div>
      <fieldset class="states">
        <legend class="unseen">State</legend>
        {STATES.map((state) => (
          <button
            key={state}
            type="button"
            class={`chip ${state}`}
            aria-pressed={filter.state === state}
            onClick={() => narrow({ filter: { state } })}
          >
            {STATE_TEXT[state]} <span class="count">{counts[state].toLocaleString('en')}</span>
          </button>
        ))}
      </fieldset>
      <Choice name="namespace" label="Namespace" value={filter.namespace} among={namespaces} />
      <Choice name="operation" label="Operation" value={filter.operation} among={operations} />
      <input
        type="text"
        class="node"
        placeholder="Node"
        aria-label="Node: that it holds, waits for, uses or has done"
        autocomplete="off"
        spellcheck={false}
        value={filter.node}
        onInput={({ currentTarget }) => narrow({ filter: { node: currentTarget.value.trim() } })}
      />
      {isFiltering(filter) && (
        <button type="button" class="plain text" onClick={() => narrow({ filter: NO_FILTER })}>
          Clear
        </button>
      )}
    </search>
  )
}

function onSearchKey(event: KeyboardEvent): void {
  const input = event.currentTarget as HTMLInputElement
  if (event.key === 'Escape') {
    if (input.value === '') input.blur()
    else narrow({ filter: { text: '' } })
  } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
    event.preventDefault()
    document.querySelector<HTMLElement>('.row a')?.focus()
  }
}

interface ChoiceProps {
  readonly name: 'namespace' | 'operation'
  readonly label: string
  readonly value: string
  readonly among: readonly string[]
}

function Choice({ name, label, value, among }: ChoiceProps) {
  const all = value === '' || among.includes(value) ? among : [value, ...among]
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => narrow({ filter: { [name]: currentTarget.value } })}
    >
      <option value="">{label}</option>
      {all.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  )
}
