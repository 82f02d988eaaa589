// needs: openssl
import { createHash } from 'node:crypto'
import { newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { describe, expect, test } from 'vitest'
import { baton, serverOfFile } from './cli-process.ts'

/** A server that wants a token and a certificate, and what those without one are told. */

const { server, folder } = serverOfFile(secured)
const authority = newAuthority()
const sha256 = createHash('sha256').update('secret').digest('hex')

const ca = folder.write('ca.pem', authority.cert)
const own = newCertificate({ by: authority })
const tls = { BATON_CA: ca, BATON_CERT: folder.write('own.pem', own.cert), BATON_KEY: folder.write('own.key', own.key) }
const flags = ['--tls-ca', tls.BATON_CA, '--tls-cert', tls.BATON_CERT, '--tls-key', tls.BATON_KEY]

function secured(): string[] {
  const { cert, key } = newCertificate({ by: authority })
  const tokens = folder.write('tokens.toml', `[[tokens]]\nsha256 = "${sha256}"\nrole = "admin"\n`)
  const files = [
    '--tls-cert',
    folder.write('server.pem', cert),
    '--tls-key',
    folder.write('server.key', key),
    '--tls-ca',
    ca,
  ]
  return ['--tokens', tokens, ...files]
}

const status = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  baton(['status', ...args], { BATON_SERVER: server.url, ...env })

describe.concurrent('to a server with TLS and tokens', () => {
  test('authority, certificate and key come from the environment or from flags', async () => {
    expect((await status({ ...tls, BATON_TOKEN: 'secret' })).code).toBe(0)
    expect((await status({ BATON_TOKEN: 'secret' }, ...flags)).code).toBe(0)
    expect((await status({ ...tls, BATON_CA: '/no/such.pem', BATON_TOKEN: 'secret' }, ...flags)).code).toBe(0)
  })

  test('without a token: 77, and where to put it', async () => {
    const { code, stderr } = await status(tls)
    expect(code).toBe(77)
    expect(stderr).toBe('baton: the server wants a token: put yours into BATON_TOKEN\n')
  })

  test('with a wrong token: 77, and where to look, without the token', async () => {
    const fromEnvironment = await status({ ...tls, BATON_TOKEN: 'guessed' })
    const fromFlag = await status({ ...tls, BATON_TOKEN: 'secret' }, '--token', 'guessed')
    for (const [{ code, stderr }, where] of [
      [fromEnvironment, 'in BATON_TOKEN'],
      [fromFlag, 'of --token'],
    ] as const) {
      expect(code).toBe(77)
      expect(stderr).toMatch(new RegExp(`^baton: the server does not know the token ${where}: [^;]*tokens file.*\n$`))
      expect(stderr).not.toContain('guessed')
    }
  })

  test.each(['status', 'events'])(
    'baton %s to a server that is not trusted: 69, and how to trust it',
    async (command) => {
      const { code, stderr } = await baton([command], { BATON_SERVER: server.url, BATON_TOKEN: 'secret' })
      expect(code).toBe(69)
      expect(stderr).toMatch(/its certificate is .*--tls-ca FILE, or BATON_CA\)\n$/)
      expect(stderr).not.toContain('baton serve')
    },
  )

  test('files that are not there, or do not go together: 64', async () => {
    const ends = await Promise.all([
      status({ BATON_CA: '/no/such.pem' }),
      status({ BATON_CA: folder.write('no.pem', 'no certificate') }),
      status({ BATON_CERT: tls.BATON_CERT }),
    ])
    expect(ends.map(({ code }) => code)).toEqual([64, 64, 64])
    expect(ends[0].stderr).toContain('cannot read /no/such.pem')
    expect(ends[1].stderr).toContain('TLS cannot use')
    expect(ends[2].stderr).toContain('--tls-key FILE (BATON_CERT, BATON_KEY)')
  })
})
