// needs: openssl
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get, type RequestOptions } from 'node:https'
import { connect } from 'node:tls'
import { newCertificate } from '@baton-lock/test-support/certificates'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'

const { key, cert } = newCertificate()

test('over TLS a stream carries events, and is cut when the server closes', async () => {
  const { url, post, app } = newWorld({ https: { key, cert } })
  const response = await fetched(`${await url()}/v1/events`, { ca: cert })
  let text = ''
  const heard = new Promise<void>((resolve) => {
    response.on('data', (chunk) => {
      text += chunk
      if (text.includes('event: granted')) resolve()
    })
  })
  const cut = new Promise((resolve) => response.on('error', resolve))
  await post('/v1/acquire', { operation: 'pull', resource: 'x', node: 'a' })
  await heard
  await app.close()
  await cut
})

test('with client certificates asked for, nobody comes in without one', async () => {
  const { url } = newWorld({ https: { key, cert, ca: cert, requestCert: true, rejectUnauthorized: true } })
  const at = `${await url()}/healthz`
  expect((await fetched(at, { ca: cert, key, cert })).statusCode).toBe(200)
  await expect(fetched(at, { ca: cert })).rejects.toThrow()
})

test('over TLS a request that offers another protocol is answered as if it did not', async () => {
  const { url } = newWorld({ https: { key, cert } })
  const { port } = new URL(await url())
  const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
  onTestFinished(() => void socket.destroy())
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: gopher/1.0\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
})

function fetched(url: string, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { ...options, agent: false, checkServerIdentity: () => undefined }, resolve).on('error', reject)
  })
}
