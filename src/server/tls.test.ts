import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get, type RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newWorld } from '../../test/server/server-world.ts'

const { key, cert } = selfSigned()

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

function selfSigned(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'baton-tls-'))
  const at = (name: string) => join(folder, name)
  const subject = ['-subj', '/CN=127.0.0.1', '-days', '2']
  const files = ['-keyout', at('key.pem'), '-out', at('cert.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', ['req', ...kind, ...files, ...subject], { stdio: 'ignore' })
  const made = { key: readFileSync(at('key.pem')), cert: readFileSync(at('cert.pem')) }
  rmSync(folder, { recursive: true })
  return made
}
