// needs: openssl
import { createHash, X509Certificate } from 'node:crypto'
import { type RequestOptions, request } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'
import type { Token } from '@baton-lock/protocol'
import { type Certificate, newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { askOn, openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import { namesIn } from './client-certificate.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const authority = newAuthority()
const own = newCertificate({ by: authority })
const by = authority
const ofA = newCertificate({ by, subject: '/CN=node-a', for: 'DNS:a.example' })
const ofB = newCertificate({ by, subject: '/O=x/CN=whatever', for: 'DNS:other.example,DNS:B.example,URI:spiffe://x/b' })
const stranger = newCertificate({ by, subject: '/CN=node-z', for: 'DNS:z.example' })

const tokens: Token[] = [
  { certificate: 'CN=node-a', role: 'node', nodes: ['a'] },
  { certificate: 'DNS:b.EXAMPLE', role: 'node', nodes: ['b'], name: 'rack-b' },
  { sha256: sha256('eyes'), role: 'observe', name: 'eyes' },
]

function secureWorld(entries: readonly Token[] = tokens) {
  const https = { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  return newWorld({ tokens: entries, https })
}

const shown = ({ key, cert }: Certificate) => ({ ca: authority.cert, key, cert })

interface Answered {
  readonly status: number | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any
}

async function ask(world: World, path: string, options: RequestOptions, body?: object): Promise<Answered> {
  const outgoing = request((await world.url()) + path, { agent: false, ...options, ...(body && { method: 'POST' }) })
  outgoing.end(body && JSON.stringify(body))
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text) }))
    })
  })
}

test('a client that shows a certificate acts as its entry, without a token', async () => {
  const world = secureWorld()
  expect((await ask(world, '/v1/who', shown(ofA))).body).toEqual({
    status: 'who',
    role: 'node',
    name: 'CN=node-a',
    nodes: ['a'],
  })
  expect((await ask(world, '/v1/who', shown(ofB))).body).toMatchObject({ name: 'rack-b', nodes: ['b'] })
  const acquire = (certificate: Certificate, node: string) =>
    ask(world, '/v1/acquire', shown(certificate), { operation: 'lock', resource: 'x', node })
  expect((await acquire(ofA, 'a')).body.status).toBe('granted')
  expect((await acquire(ofA, 'b')).status).toBe(403)
  expect((await acquire(ofB, 'b')).body.status).toBe('queued')
})

test('the upgrade to a stream knows the certificate too', async () => {
  const world = secureWorld()
  const opened = await openWebSocket(world, { tls: shown(ofA) })
  expect(await askOn(opened, { type: 'get-who' })).toMatchObject({ name: 'CN=node-a', nodes: ['a'] })
  expect((await openWebSocket(world, { tls: shown(stranger) })).status).toBe(401)
})

test('a certificate that no entry names is 401, and says what is missing', async () => {
  const world = secureWorld()
  const { status, body } = await ask(world, '/v1/who', shown(stranger))
  expect([status, body.code]).toEqual([401, 'unauthorised'])
  expect(body.message).toMatch(/^The server has no entry for this certificate; send a token/)
  expect((await ask(world, '/healthz', shown(stranger))).status).toBe(200)
})

test('a token that is shown beside a certificate must be good, and counts', async () => {
  const world = secureWorld()
  const withToken = (certificate: Certificate, secret: string) =>
    ask(world, '/v1/who', { ...shown(certificate), headers: { authorization: `Bearer ${secret}` } })
  expect((await withToken(ofA, 'eyes')).body).toMatchObject({ role: 'observe', name: 'eyes' })
  expect((await withToken(stranger, 'eyes')).body).toMatchObject({ role: 'observe' })
  expect(await withToken(ofA, 'wrong')).toMatchObject({ status: 401 })
})

test('a fingerprint goes before the names, and a URI before a machine and a person', async () => {
  const fingerprint = new X509Certificate(ofB.cert).fingerprint256
  const entries: Token[] = [
    { certificate: 'CN=whatever', role: 'observe', name: 'by CN' },
    { certificate: 'DNS:b.example', role: 'observe', name: 'by DNS' },
    { certificate: 'URI:spiffe://x/b', role: 'observe', name: 'by URI' },
    { certificate: `SHA256:${fingerprint}`, role: 'observe', name: 'by fingerprint' },
  ]
  const world = secureWorld(entries)
  const names: unknown[] = []
  for (let left = entries.length; left > 0; left--) {
    world.app.replaceTokens(entries.slice(0, left))
    names.push((await ask(world, '/v1/who', shown(ofB))).body.name)
  }
  expect(names).toEqual(['by fingerprint', 'by URI', 'by DNS', 'by CN'])
})

test('an entry that has been removed or has expired is not good any more, on a connection that is open', async () => {
  const world = secureWorld([{ ...tokens[0]!, expires: new Date(1_700_000_060_000) }, tokens[1]!])
  const opened = await openWebSocket(world, { tls: shown(ofA) })
  expect(await askOn(opened, { type: 'get-who' })).toMatchObject({ expiresAtMs: 1_700_000_060_000 })
  await world.clock.advance(60_000)
  expect(await opened.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('has expired') })
  expect((await ask(world, '/v1/who', shown(ofA))).body.message).toMatch(/^The token has expired/)
  const other = await openWebSocket(world, { tls: shown(ofB) })
  world.app.replaceTokens([tokens[2]!])
  expect(await other.closed).toMatchObject({ code: 1008 })
})

test('a resumed TLS session is still that of its certificate', async () => {
  const world = secureWorld()
  const { port } = new URL(await world.url())
  const open = (session?: Buffer) =>
    new Promise<TLSSocket>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: Number(port), ...shown(ofA), ...(session && { session }) }
      const socket = connect(options, () => resolve(socket)).on('error', reject)
      onTestFinished(() => void socket.destroy())
    })
  const asked = async (socket: TLSSocket) => {
    socket.write('GET /v1/who HTTP/1.1\r\nHost: x\r\n\r\n')
    return new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
  }
  const first = await open()
  const session = new Promise<Buffer>((resolve) => first.once('session', resolve))
  expect(await asked(first)).toContain('"name":"CN=node-a"')
  const second = await open(await session)
  expect(second.isSessionReused()).toBe(true)
  expect(await asked(second)).toContain('"name":"CN=node-a"')
})

test('names in a certificate cannot be forged by what stands in another one', () => {
  const names = ({ cert }: Certificate) => namesIn(new X509Certificate(cert)).slice(1)
  expect(names(ofB)).toEqual(['URI:spiffe://x/b', 'DNS:other.example', 'DNS:b.example', 'CN=whatever'])
  const listed = '@names\n[names]\nURI.1 = x:/a, DNS:evil.example\nDNS.1 = good.example'
  const odd = newCertificate({ by, subject: '/CN=node-a\nCN=node-b', for: listed })
  expect(names(odd)).toEqual(['URI:x:/a, DNS:evil.example', 'DNS:good.example', 'CN=node-a\nCN=node-b'])
  expect(names(newCertificate({ by, subject: '/CN=node-a/CN=node-b', for: 'IP:::1' }))).toEqual([])
})

test('one that the server has not found good stands for nobody', async () => {
  const other = newCertificate({ by: newAuthority(), subject: '/CN=node-a' })
  const https = { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: false }
  const world = newWorld({ tokens, https })
  expect((await ask(world, '/v1/who', shown(other))).status).toBe(401)
  expect((await ask(world, '/v1/who', shown(ofA))).status).toBe(200)
})
