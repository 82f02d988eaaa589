// needs: openssl
import { createHash, X509Certificate } from 'node:crypto'
import { connect, type DetailedPeerCertificate } from 'node:tls'
import type { Token } from '@baton-lock/protocol'
import { type Certificate, newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import { Reload } from './reload.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const token = (name: string): Token => ({ name, sha256: sha256(name), role: 'observe' })
const authority = newAuthority()

/** A server, and files that say what they are told to say. */
function reloadingWorld({ tokens, tls }: { tokens?: readonly Token[]; tls?: Certificate } = {}) {
  const { log, entries } = recordedLog()
  const world = newWorld({ log, ...(tokens && { tokens }), ...(tls && { https: tls }), audit: () => {} })
  const files = { tokens: tokens ?? [], tls, broken: '' }
  const read = <Value>(what: string, value: () => Value) => {
    if (files.broken === what) throw new Error(`${what} has to be changed`)
    return value()
  }
  const reload = new Reload(world.app, {
    log,
    tokens: tokens ?? [],
    tls,
    readTokens: () => read('tokens', () => files.tokens),
    readTls: () => read('tls', () => files.tls),
  })
  const status = async (name: string) => (await world.get('/v1/who', { authorization: `Bearer ${name}` })).status
  return { world, files, reload, entries, status }
}

/** The fingerprint of the certificate that a new connection is shown. */
async function shownBy(world: World): Promise<string> {
  const { port } = new URL(await world.url())
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), ca: authority.cert }, () => {
      const { fingerprint256 } = socket.getPeerCertificate() as DetailedPeerCertificate
      socket.destroy()
      resolve(fingerprint256)
    })
    socket.on('error', reject)
  })
}

const fingerprintOf = ({ cert }: Certificate) => new X509Certificate(cert).fingerprint256

test('what the files have now is what counts, and the log says how much has changed', async () => {
  const { files, reload, entries, status } = reloadingWorld({ tokens: [token('a'), token('b')] })
  files.tokens = [token('b'), token('c')]
  expect([await status('a'), await status('c')]).toEqual([200, 401])
  reload.run({ isAsked: false })
  expect([await status('a'), await status('b'), await status('c')]).toEqual([401, 200, 200])
  reload.run({ isAsked: false })
  expect(entries.filter(([, message]) => message !== 'wrong tokens')).toEqual([
    ['info', 'tokens reloaded', { tokens: 2, added: 1, removed: 1 }],
  ])
})

test('whoever asks for it is told that it was done, also where nothing has changed', () => {
  const tls = newCertificate({ by: authority })
  const { reload, entries } = reloadingWorld({ tokens: [token('a')], tls })
  reload.run({ isAsked: true })
  expect(entries).toEqual([
    ['info', 'tokens reloaded', { tokens: 1, added: 0, removed: 0 }],
    ['info', 'certificates reloaded', { isChanged: false }],
  ])
})

test('new connections are shown the new certificate; broken tokens do not keep it away', async () => {
  const [first, second] = [newCertificate({ by: authority }), newCertificate({ by: authority })]
  const { world, files, reload, entries } = reloadingWorld({ tokens: [token('a')], tls: first })
  expect(await shownBy(world)).toBe(fingerprintOf(first))
  Object.assign(files, { tls: second, broken: 'tokens' })
  reload.run({ isAsked: false })
  expect(await shownBy(world)).toBe(fingerprintOf(second))
  expect(entries).toEqual([
    ['error', 'tokens not reloaded', { error: 'tokens has to be changed', inForce: 'the old ones' }],
    ['info', 'certificates reloaded', { isChanged: true }],
  ])
})

test('where something is broken the old one stays in force', async () => {
  const tls = newCertificate({ by: authority })
  const { world, files, reload, entries, status } = reloadingWorld({ tokens: [token('a')], tls })
  for (const tokens of [[], [token('a'), token('a')]]) {
    files.tokens = tokens
    reload.run({ isAsked: true })
    expect(await status('a')).toBe(200)
  }
  Object.assign(files, { tokens: [token('a')], broken: 'tls' })
  reload.run({ isAsked: false })
  expect(await shownBy(world)).toBe(fingerprintOf(tls))
  expect(entries.filter(([level]) => level === 'error').map(([, , { error }]) => error)).toEqual([
    expect.stringMatching(/^tokens: there is none/),
    expect.stringMatching(/^tokens\.1\.sha256: the same token/),
    'tls has to be changed',
  ])
})

test('a server without tokens does not get any, and the operator is told to start it again', async () => {
  const { files, reload, entries, status } = reloadingWorld()
  reload.run({ isAsked: true })
  expect(entries).toEqual([])
  files.tokens = [token('a')]
  reload.run({ isAsked: false })
  expect(await status('nobody')).toBe(200)
  expect(entries).toEqual([
    ['error', 'tokens not reloaded', expect.objectContaining({ error: expect.stringContaining('start it again') })],
  ])
})
