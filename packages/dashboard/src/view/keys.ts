import { dashboard, go, isHelpOpen, listRoute } from './state.ts'

/** The keys that work everywhere: those of a list are its own. */
export function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const { target } = event
  const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement
  if (document.querySelector('dialog[open]')) return
  if (event.key === '/' && !isTyping) {
    const search = document.getElementById('search')
    if (!search) return
    event.preventDefault()
    search.focus()
  } else if (event.key === '?' && !isTyping) isHelpOpen.value = true
  else if (event.key === 'Escape' && !isTyping && dashboard.route.value.page !== 'list') go(listRoute())
}
