// needs: openssl
import { type Certificate, newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { callBy } from '@baton-lock/test-support/client-stream'
import { outcomeOf } from '@baton-lock/test-support/client-world'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import { systemClientClock } from '../src/clock.ts'
import { webSocketDial } from '../src/connection/web-socket.ts'
import { WebSocketTransport } from '../src/connection/web-socket-transport.ts'
import { type ConnectOptions, UnavailableError } from '../src/index.ts'

const authority = newAuthority()
const good = newCertificate({ by: authority })

/** What comes of a call to a server with this certificate. */
async function call(own: Certificate, tls: ConnectOptions['tls'], more: object = {}) {
  const { url } = newWorld({ https: { ...own, ...more } })
  const at = await url()
  const dial = webSocketDial({ tls })
  const transport = new WebSocketTransport({
    bases: [new URL(at)],
    dial,
    clock: systemClientClock(),
    notice: () => {},
  })
  onTestFinished(() => transport.close())
  return { at, outcome: await outcomeOf(callBy(transport, { type: 'get-policy' })) }
}

const trusting = { ca: authority.cert }

test('a server whose authority is trusted is spoken to', async () => {
  expect((await call(good, trusting)).outcome).toMatchObject({ status: 'policy' })
})

test.each([
  [
    'that is self-signed',
    newCertificate(),
    undefined,
    /self-signed.*\(DEPTH_ZERO_SELF_SIGNED_CERT\); trust .*`tls\.ca`/,
  ],
  [
    'of another authority',
    good,
    undefined,
    /authority that is not known here \(\w+\); trust .*--tls-ca FILE, or BATON_CA/,
  ],
  ['of the past', newCertificate({ by: authority, days: -1 }), trusting, /has expired \(CERT_HAS_EXPIRED\); renew it/],
  [
    'for another name',
    newCertificate({ by: authority, for: 'DNS:elsewhere.example' }),
    trusting,
    /for another name \(ERR_TLS_CERT_ALTNAME_INVALID\); use a name/,
  ],
])('a certificate %s is said to be that, and nobody answers', async (_, own, tls, sentence) => {
  const { at, outcome } = await call(own, tls)
  expect(outcome).toBeInstanceOf(UnavailableError)
  expect((outcome as Error).message).toMatch(sentence)
  expect((outcome as Error).message.startsWith(`no answer from ${at}: its certificate `)).toBe(true)
})

test('a client shows its own certificate where the server asks for one', async () => {
  const asking = { ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  const own = newCertificate({ by: authority })
  expect((await call(good, { ...trusting, ...own }, asking)).outcome).toMatchObject({ status: 'policy' })
  expect((await call(good, trusting, asking)).outcome).toBeInstanceOf(UnavailableError)
})
