import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Token } from '@baton-lock/protocol'
import { StoreUnavailable } from '@baton-lock/service'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import type { AuditEntry } from '../logging/audit.ts'
import type { StoreBackup } from './backup.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const tokens: Token[] = [
  { name: 'ops', sha256: sha256('root'), role: 'admin' },
  { name: 'team', sha256: sha256('of-team'), role: 'admin', namespace: 'team' },
  { name: 'eyes', sha256: sha256('looks'), role: 'observe' },
]

/** So much of the letter x, piece by piece; says how many pieces were taken, and whether it was given back. */
function letters(pieces: number, size: number) {
  const taken = { pieces: 0, isOver: false }
  const chunks = (async function* () {
    try {
      for (; taken.pieces < pieces; taken.pieces++) yield Buffer.alloc(size, 'x')
    } finally {
      taken.isOver = true
    }
  })()
  return { taken, backup: async (): Promise<StoreBackup> => ({ bytes: pieces * size, chunks }) }
}

function backedUpWorld(backup?: () => Promise<StoreBackup>, limits = {}) {
  const entries: Partial<AuditEntry>[] = []
  const audit = ({ who, what, answer, code }: AuditEntry) => void entries.push({ who, what, answer, code })
  const { log, entries: logged } = recordedLog()
  return { ...newWorld({ tokens, audit, log, backup, limits }), entries, logged }
}

test('an admin of all namespaces is sent the whole store, and that is written down', async () => {
  const { taken, backup } = letters(40, 100_000)
  const { url, entries } = backedUpWorld(backup)
  const response = await fetch(`${await url()}/v1/backup`, { headers: bearer('root') })
  expect([response.status, response.headers.get('content-length')]).toEqual([200, '4000000'])
  expect((await response.arrayBuffer()).byteLength).toBe(4_000_000)
  expect(taken).toEqual({ pieces: 40, isOver: true })
  expect(entries).toEqual([{ who: 'ops', what: 'backup', answer: 'sent' }])
})

test('nobody else is, and the store is not asked', async () => {
  let asked = 0
  const { get, entries } = backedUpWorld(async () => {
    asked++
    throw new Error('not to be asked')
  })
  expect((await get('/v1/backup')).status).toBe(401)
  for (const secret of ['of-team', 'looks']) expect((await get('/v1/backup', bearer(secret))).status).toBe(403)
  expect(asked).toBe(0)
  expect(entries).toEqual([
    { who: 'team', what: 'backup', answer: 'refused', code: 'forbidden' },
    { who: 'eyes', what: 'backup', answer: 'refused', code: 'forbidden' },
  ])
})

test('a store that is backed up by other means, or cannot be written, is a refusal', async () => {
  const other = backedUpWorld()
  const { status, body } = await other.get('/v1/backup', bearer('root'))
  expect([status, body]).toMatchObject([400, { code: 'bad-request', message: expect.stringMatching(/its own means/) }])
  const full = backedUpWorld(async () => {
    throw new StoreUnavailable('the backup could not be written (ENOSPC)')
  })
  expect(await full.get('/v1/backup', bearer('root'))).toMatchObject({
    status: 503,
    body: { code: 'store-unavailable' },
  })
  expect(full.entries).toEqual([{ who: 'ops', what: 'backup', answer: 'refused', code: 'store-unavailable' }])
  expect(full.logged).toContainEqual([
    'error',
    'backup not written',
    expect.objectContaining({ error: 'the backup could not be written (ENOSPC)' }),
  ])
})

test('a client that stops reading holds a few pieces in memory, and is cut', async () => {
  const { taken, backup } = letters(2_000, 100_000)
  const { url, entries } = backedUpWorld(backup, { idleMs: 500 })
  const { port, hostname } = new URL(await url())
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write('GET /v1/backup HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer root\r\n\r\n')
  socket.pause()
  await expect.poll(() => entries, { timeout: 10_000 }).toEqual([{ who: 'ops', what: 'backup', answer: 'cut' }])
  expect(taken.isOver).toBe(true)
  // What the kernel takes for a socket is in it.
  expect(taken.pieces).toBeLessThan(200)
  socket.destroy()
})

test('the connection of a backup ends with it, so its timeout cuts no other answer', async () => {
  const { backup } = letters(1, 10)
  const { url } = backedUpWorld(backup, { idleMs: 60_000 })
  const { port, hostname } = new URL(await url())
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  const ended = once(socket, 'end')
  for (const path of ['/v1/backup', '/v1/events'])
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer root\r\n\r\n`)
  await ended
  expect(text).toMatch(/connection: close(.|\s)*x{10}$/i)
})
