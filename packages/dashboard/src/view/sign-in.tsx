import { useRef } from 'preact/hooks'
import { token } from '../browser.ts'
import { Icon } from './icons.tsx'
import { dashboard, signIn } from './state.ts'

/** Asks for a token; the server has said that it wants one. */
export function SignIn() {
  const input = useRef<HTMLInputElement>(null)
  const contact = dashboard.stream.contact.value
  const hasTried = token.get() !== undefined
  const submit = (event: Event) => {
    event.preventDefault()
    const secret = input.current?.value.trim() ?? ''
    if (secret !== '') signIn(secret)
  }
  return (
    <form class="sign-in card" onSubmit={submit}>
      <Icon name="baton" />
      <h1>Sign in</h1>
      <p>This server asks for a token. An admin token may act; an observe token may look.</p>
      <label for="token">Token</label>
      <input
        id="token"
        ref={input}
        type="password"
        autocomplete="off"
        spellcheck={false}
        required
        autofocus
        aria-describedby="token-note"
        aria-invalid={hasTried}
      />
      {hasTried && contact.state === 'signed-out' && (
        <p class="problem" role="alert">
          {contact.why}
        </p>
      )}
      <button type="submit" class="primary">
        Sign in
      </button>
      <p id="token-note" class="note">
        It stays in this tab until you close it or sign out. Whoever runs the server makes tokens with{' '}
        <code>baton token new</code>.
      </p>
    </form>
  )
}
