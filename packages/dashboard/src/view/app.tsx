import { useEffect } from 'preact/hooks'
import { Bar, LostBanner } from './bar.tsx'
import { Confirm } from './confirm.tsx'
import { EventsPage } from './feed.tsx'
import { Help } from './help.tsx'
import { onKey } from './keys.ts'
import { ListPage } from './list/list-page.tsx'
import { ResourcePage } from './resource/resource-page.tsx'
import { SignIn } from './sign-in.tsx'
import { announced, dashboard } from './state.ts'

/** The whole page. */
export function App() {
  useEffect(() => {
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const { state } = dashboard.stream.contact.value
  const { page } = dashboard.route.value
  const stuck = dashboard.selection.value.stuck.length
  useEffect(() => {
    document.title = stuck > 0 ? `(${stuck} stuck) Baton` : 'Baton'
  }, [stuck])
  return (
    <>
      <button type="button" class="skip-link" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Bar />
      <LostBanner />
      <main id="main" tabIndex={-1}>
        {state === 'signed-out' ? (
          <SignIn />
        ) : page === 'resource' ? (
          <ResourcePage />
        ) : page === 'events' ? (
          <EventsPage />
        ) : (
          <ListPage />
        )}
      </main>
      <Confirm />
      <Help />
      <div class="unseen" role="status" aria-live="polite">
        {announced}
      </div>
    </>
  )
}
