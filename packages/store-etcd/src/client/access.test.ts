// needs: openssl, etcd
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { type Certificate, newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { failureOf, openedEtcd, put, Seen, valueAt } from '@baton-lock/test-support/etcd-world'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

const FAST = '--unsafe-no-fsync'

async function started(options: Parameters<typeof startEtcd>[0]): Promise<EtcdCluster> {
  const cluster = await startEtcd({ members: 1, ...options })
  onTestFinished(() => cluster.stop())
  return cluster
}

test('how large a database may become is known from the metrics of its member; without them, nothing is', async () => {
  const quota = 512 * 1024 * 1024
  const cluster = await started({ options: [FAST, `--quota-backend-bytes=${quota}`] })
  const etcd = openedEtcd(cluster.url())
  expect(await etcd.quota(cluster.endpoints[0]!)).toBe(quota)
  await cluster.members[0]!.kill()
  expect(await etcd.quota(cluster.endpoints[0]!)).toBe(undefined)
})

describe('a user', () => {
  let cluster: EtcdCluster
  let host: string
  beforeAll(async () => {
    cluster = await startEtcd({ members: 1, options: [FAST] })
    host = cluster.endpoints[0]!
  }, 120_000)
  afterAll(() => cluster.stop())

  const base64 = (text: string) => Buffer.from(text).toString('base64')

  /** Again where there is no answer in time; what was done already is done. */
  async function administer(path: string, request: object = {}): Promise<void> {
    const isDone = () =>
      cluster.call(path, request).then(
        () => true,
        (error) => /already|duplicate/.test(String(error)),
      )
    await expect.poll(isDone, { timeout: 20_000 }).toBe(true)
  }

  /** Root, and one who may do all with keys that begin with `mine/`. */
  async function enable(): Promise<void> {
    for (const [name, role] of [
      ['root', 'root'],
      ['me', 'owner'],
    ]) {
      await administer('/v3/auth/user/add', { name, password: 'hush' })
      await administer('/v3/auth/role/add', { name: role })
      await administer('/v3/auth/user/grant', { user: name, role })
    }
    const perm = { permType: 'READWRITE', key: base64('mine/'), range_end: base64('mine0') }
    await administer('/v3/auth/role/grant', { name: 'owner', perm })
    await administer('/v3/auth/enable')
  }

  test('who is named goes in where nobody has to say who he is, and still does when that is wanted later', async () => {
    const [named, nameless] = [openedEtcd(`etcd://me:hush@${host}/mine`), openedEtcd(`etcd://${host}/mine`)]
    await put(named, 'mine/a', 'one')
    await put(nameless, 'mine/a', 'two')
    await enable()
    await put(named, 'mine/a', 'three')
    expect(await failureOf(put(nameless, 'mine/a'))).toMatchObject({
      kind: 'refused',
      message: 'etcd wants to know who asks: write user and password into the URL, etcd://user:password@host:2379',
    })
  })

  test('does what his roles let him, leases and watches too', async () => {
    const etcd = openedEtcd(`etcd://me:hush@${host}/mine`)
    const seen = new Seen()
    etcd.watch({ key: 'mine/', end: 'mine0' }, 0, seen)
    await seen.until(/^up to/)
    await etcd.grantLease(1, 60)
    await put(etcd, 'mine/b', 'b', 1)
    await seen.until('mine/b=b')
    expect(await etcd.keepAlive(1)).toBe(60)
    expect(await etcd.leaseTimes(1)).toMatchObject({ ttlS: 60 })
    expect(await etcd.revokeLease(1)).toBe(true)
    expect(await etcd.status()).toMatchObject([{ isLeader: true }])
  })

  test('is told which right he lacks, and never his password', async () => {
    const etcd = openedEtcd(`etcd://me:hush@${host}/theirs`)
    const refused = {
      kind: 'refused',
      message:
        "etcd refuses the user 'me': give one of its roles the right, `etcdctl role grant-permission ROLE readwrite --prefix theirs/`",
    }
    expect(await failureOf(put(etcd, 'theirs/a'))).toMatchObject(refused)
    expect(await failureOf(valueAt(etcd, 'theirs/a'))).toMatchObject(refused)
    const seen = new Seen()
    etcd.watch({ key: 'theirs/' }, 0, seen)
    await seen.until('lost')
    expect(seen.error).toMatchObject(refused)
  })

  test('with a wrong password is not let in, nor is one whom nobody knows', async () => {
    for (const user of ['me', 'nobody']) {
      const error = await failureOf(put(openedEtcd(`etcd://${user}:secret@${host}/mine`), 'mine/a'))
      expect(error).toMatchObject({
        kind: 'refused',
        message: `etcd lets nobody in as '${user}' with this password: look at user and password in the URL`,
      })
      expect(JSON.stringify([error.stack, error.cause, String(error.cause)])).not.toContain('secret')
    }
  })

  test('is let in again where his token is forgotten', async () => {
    const etcd = openedEtcd(`etcd://me:hush@${host}/mine`)
    await etcd.grantLease(2, 60)
    expect(await etcd.keepAlive(2)).toBe(60)
    // Tokens are only in its memory.
    await cluster.members[0]!.restart()
    const [value, ttlS] = await Promise.all([valueAt(etcd, 'mine/a'), etcd.keepAlive(2)])
    expect(value).toBe('three')
    expect(ttlS).toBe(60)
    await put(etcd, 'mine/a', 'four')
  })
})

describe('TLS', () => {
  const [authority, stranger] = [newAuthority(), newAuthority()]
  const folder = mkdtempSync(join(tmpdir(), 'baton-etcd-tls-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  function file(name: string, text: string): string {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  function files(name: string, { cert, key }: Certificate): { readonly cert: string; readonly key: string } {
    return { cert: file(`${name}.pem`, cert), key: file(`${name}-key.pem`, key) }
  }

  const ca = file('ca.pem', authority.cert)
  const server = files('server', newCertificate({ by: authority, for: 'IP:127.0.0.1,DNS:localhost' }))

  /** etcd wants certificates of clients as soon as it is told whom to trust. */
  const serving = (certificate: { readonly cert: string; readonly key: string }) =>
    started({ options: [FAST, '--trusted-ca-file='], tls: { ca, ...certificate } })

  /** What comes of a write. */
  async function outcomeOf(url: string): Promise<string> {
    const etcd = openedEtcd(url)
    return put(etcd, 'a').then(
      () => 'done',
      ({ kind, message }) => `${kind}: ${message}`,
    )
  }

  test('is spoken with who is trusted, by address or by name', async () => {
    const { clientPort } = (await serving(server)).members[0]!
    expect(await outcomeOf(`etcd://127.0.0.1:${clientPort}?ca=${ca}`)).toBe('done')
    expect(await outcomeOf(`etcd://localhost:${clientPort}?ca=${ca}`)).toBe('done')
    const at = `refused: etcd cannot be reached at 127.0.0.1:${clientPort}`
    const untrusted = `${at} (its certificate is of an authority that is not trusted here: trust its authority with ca=FILE in the URL)`
    expect(await outcomeOf(`etcd://127.0.0.1:${clientPort}?tls=true`)).toBe(untrusted)
    expect(await outcomeOf(`etcd://127.0.0.1:${clientPort}?ca=${file('other.pem', stranger.cert)}`)).toBe(untrusted)
    expect(await outcomeOf(`etcd://127.0.0.1:${clientPort}`)).toContain(
      'if it speaks TLS, write ca=FILE or tls=true into the URL',
    )
  })

  test('is not spoken with who is somebody else, or was', async () => {
    const other = await serving(files('other', newCertificate({ by: authority, for: 'DNS:elsewhere' })))
    expect(await outcomeOf(`${other.url()}?ca=${ca}`)).toContain('its certificate is for another name')
    const late = await serving(files('late', newCertificate({ by: authority, days: -1 })))
    expect(await outcomeOf(`${late.url()}?ca=${ca}`)).toContain('its certificate has expired')
  })

  test('is not spoken where it is not understood', async () => {
    const plain = await started({ options: [FAST] })
    // Where its reset comes first, there is no more to be said.
    expect(await outcomeOf(`${plain.url()}?ca=${ca}`)).toMatch(/it does not speak TLS|ECONNRESET/)
  })

  test('shows a certificate of the client where one is wanted', async () => {
    const cluster = await started({ options: [FAST], tls: { ca, ...server, isClientCertRequired: true } })
    const url = `${cluster.url()}?ca=${ca}`
    const mine = files('mine', newCertificate({ by: authority, subject: '/CN=me' }))
    const forged = files('forged', newCertificate({ by: stranger, subject: '/CN=me' }))
    const asMe = `${url}&cert=${mine.cert}&key=${mine.key}`
    expect(await outcomeOf(asMe)).toBe('done')
    expect(await openedEtcd(asMe).quota(cluster.endpoints[0]!)).toBe(2 * 1024 ** 3)
    const wanted = 'it wants a client certificate that it trusts: look at cert=FILE and key=FILE in the URL'
    expect(await outcomeOf(url)).toContain(wanted)
    expect(await outcomeOf(`${url}&cert=${forged.cert}&key=${forged.key}`)).toContain(wanted)
    expect(await outcomeOf(`${url}&cert=${mine.cert}&key=${forged.key}`)).toContain('key= is not the key of cert=')
  })

  test('takes the files as they are when it connects', async () => {
    const cluster = await started({ options: [FAST], tls: { ca, ...server, isClientCertRequired: true } })
    const forged = files('renewed', newCertificate({ by: stranger, subject: '/CN=me' }))
    const etcd = openedEtcd(`${cluster.url()}?ca=${ca}&cert=${forged.cert}&key=${forged.key}`)
    expect(await failureOf(put(etcd, 'a'))).toMatchObject({ kind: 'refused' })
    files('renewed', newCertificate({ by: authority, subject: '/CN=me' }))
    await expect
      .poll(() => put(etcd, 'a').catch(() => undefined), { timeout: 5_000 })
      .toMatchObject({ succeeded: true })
  })
})

test('one that is full says what to do, and still reads and deletes', async () => {
  const cluster = await started({ options: [FAST, '--quota-backend-bytes=1000000'] })
  const etcd = openedEtcd(cluster.url())
  const fill = async () => {
    // It counts what is on its disk, and that is written some times a second: a fast one takes many before.
    for (let times = 0; times < 1_000; times++) await put(etcd, 'a', 'x'.repeat(100_000))
  }
  const full = {
    kind: 'full',
    message:
      'etcd is full (NOSPACE), and takes no writes: compact and defragment it (`etcdctl compact REVISION`, `etcdctl defrag`) ' +
      'or raise --quota-backend-bytes, then `etcdctl alarm disarm`',
  }
  expect(await failureOf(fill())).toMatchObject(full)
  expect(await etcd.alarms()).toEqual(['NOSPACE'])
  expect(await failureOf(put(etcd, 'b'))).toMatchObject(full)
  expect(await failureOf(etcd.grantLease(1, 60))).toMatchObject(full)
  expect(await valueAt(etcd, 'a')).toHaveLength(100_000)
  await etcd.txn({ compare: [], success: [{ delete: { key: 'a' } }] })
  expect(await valueAt(etcd, 'a')).toBeUndefined()
})
