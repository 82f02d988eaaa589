import type { IncomingMessage } from 'node:http'
import { get, type RequestOptions } from 'node:https'
import { expect, test } from 'vitest'
import { newCertificate } from '../testing/unit/certificates.ts'
import { newWorld } from '../testing/unit/server-world.ts'

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

function fetched(url: string, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { ...options, agent: false, checkServerIdentity: () => undefined }, resolve).on('error', reject)
  })
}
