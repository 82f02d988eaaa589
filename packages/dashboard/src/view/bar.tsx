import { useState } from 'preact/hooks'
import { browserTimers, type Theme, theme, token } from '../browser.ts'
import { hashOf } from '../model/route.ts'
import { Icon } from './icons.tsx'
import { dashboard, isHelpOpen, listRoute, signOut } from './state.ts'
import { ageText, nowMs } from './time.tsx'

/** The top of the page: where one is, whether it is live, who one is. */
export function Bar() {
  const { page } = dashboard.route.value
  const isIn = dashboard.stream.contact.value.state !== 'signed-out'
  return (
    <header class="bar">
      <a class="brand" href={hashOf(listRoute())} aria-label="Baton, all resources">
        <Icon name="baton" />
        Baton
      </a>
      {isIn && (
        <nav aria-label="Pages">
          <a href={hashOf(listRoute())} aria-current={page === 'list' ? 'page' : undefined}>
            Resources
          </a>
          <a href="#/events" aria-current={page === 'events' ? 'page' : undefined}>
            Events
          </a>
        </nav>
      )}
      <span class="spring" />
      <ContactPill />
      <Identity />
      <button type="button" class="plain" aria-label="Keys" onClick={() => (isHelpOpen.value = true)}>
        <Icon name="keyboard" />
      </button>
      <ThemeButton />
    </header>
  )
}

const CONTACT_TEXT = { connecting: 'connecting', live: 'live', lost: 'not connected', 'signed-out': 'signed out' }

function ContactPill() {
  const { state } = dashboard.stream.contact.value
  return (
    <span class={`pill contact ${state}`}>
      <i aria-hidden="true" />
      {CONTACT_TEXT[state]}
    </span>
  )
}

function Identity() {
  const { who } = dashboard
  if (!who || who.role === 'anybody') return null
  const scope = who.namespace === undefined ? '' : `, namespace ${who.namespace}`
  return (
    <span class="who">
      <span class="who-name" title={`role ${who.role}${scope}`}>
        {who.name ?? who.role}
        {who.name !== undefined && <small> {who.role}</small>}
      </span>
      <Expiry atMs={who.expiresAtMs} />
      {token.get() !== undefined && (
        <button type="button" class="plain text" onClick={signOut}>
          Sign out
        </button>
      )}
    </span>
  )
}

/** Said while there is still time to get another one. */
const EXPIRES_SOON_MS = 3_600_000

function Expiry({ atMs }: { atMs: number | undefined }) {
  const leftMs = (atMs ?? Infinity) - nowMs()
  return leftMs < EXPIRES_SOON_MS ? <span class="problem">token expires in {ageText(leftMs)}</span> : null
}

const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const THEME_ICON = { system: 'half', light: 'sun', dark: 'moon' } as const

function ThemeButton() {
  const [now, setNow] = useState(theme.get())
  const change = () => {
    theme.set(NEXT[now])
    setNow(NEXT[now])
  }
  const said = now === 'system' ? 'as the system has it' : now
  return (
    <button
      type="button"
      class="plain"
      aria-label={`Colours: ${said}. Change`}
      title={`Colours: ${said}`}
      onClick={change}
    >
      <Icon name={THEME_ICON[now]} />
    </button>
  )
}

/** Nothing here is hidden: what is shown is old, and how old is said. */
export function LostBanner() {
  const contact = dashboard.stream.contact.value
  const trouble = dashboard.trouble.value
  if (contact.state === 'live' && trouble !== undefined)
    return (
      <div class="lost" role="alert">
        <Icon name="warning" />
        <span>The server answers, but what you see may be old: {trouble}</span>
      </div>
    )
  if (contact.state !== 'lost') return null
  dashboard.shownMs.value
  const agoMs = browserTimers.monoMs() - contact.sinceMs
  return (
    <div class="lost" role="alert">
      <Icon name="warning" />
      <span>
        Not connected: {contact.why}. What you see is {ageText(agoMs)} old.
      </span>
      <button type="button" onClick={() => void dashboard.stream.connect()}>
        Try now
      </button>
    </div>
  )
}
