// needs: openssl
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { newAuthority, newCertificate } from '@baton-lock/test-support/certificates'
import { afterAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { baton, killRest, openFolder, startServer, type TestServer, until } from './cli-process.ts'

/** Tokens as an operator makes, lists and revokes them, beside a server that runs with them. */

const folder = openFolder()
afterAll(() => {
  killRest()
  folder.remove()
})

let files = 0
const newTokens = () => folder.path(`tokens-${++files}.toml`)

async function newToken(tokens: string, ...args: string[]): Promise<string> {
  const { code, stdout } = await baton(['token', 'new', '--tokens', tokens, ...args])
  expect(code).toBe(0)
  return stdout.trim()
}

const status = (server: TestServer, token: string) =>
  baton(['status'], { BATON_SERVER: server.url, BATON_TOKEN: token })
const who = async (server: TestServer, token: string) =>
  (await fetch(`${server.url}/v1/who`, { headers: { authorization: `Bearer ${token}` } })).json()

test.concurrent('a token is printed once, listed without its secret, and good until it is revoked, without a restart', async () => {
  const tokens = newTokens()
  const root = await newToken(tokens, '--role', 'admin', '--name', 'ops')
  expect(statSync(tokens).mode & 0o777).toBe(0o600)
  const server = await startServer(['--tokens', tokens])
  expect((await status(server, root)).code).toBe(0)
  const rack = await newToken(
    tokens,
    '--role',
    'node',
    '--node',
    'a',
    '--node',
    'b',
    '--name',
    'rack',
    '--expires',
    '90d',
  )
  expect(rack).toMatch(/^baton_[\w-]{43}$/)
  expect(readFileSync(tokens, 'utf8')).not.toContain(rack)
  await until('the new token is good', async () => (await status(server, rack)).code === 0)
  expect(await who(server, rack)).toMatchObject({ role: 'node', name: 'rack', nodes: ['a', 'b'] })

  const listed = await baton(['token', 'list', '--tokens', tokens])
  expect(listed.stdout).toMatch(/^NAME +ROLE +NODES .*\nops +admin +- .* never\nrack +node +a,b .* \(in 90d\)\n$/)
  const json = await baton(['token', 'list', '--json'], { BATON_TOKENS: tokens })
  expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'ops' }, { name: 'rack', nodes: ['a', 'b'] }])
  expect(json.stdout).not.toContain('sha256')

  const stream = new WebSocket(`${server.url.replace('http', 'ws')}/v1/stream`, {
    headers: { authorization: `Bearer ${rack}` },
  })
  const closed = new Promise<number>((resolve) => stream.on('close', resolve))
  await new Promise((resolve) => stream.on('open', resolve))
  expect((await baton(['token', 'revoke', 'rack', '--tokens', tokens])).stdout).toMatch(/^revoked rack/)
  expect(await closed).toBe(1008)
  expect((await status(server, rack)).code).toBe(77)
  expect((await status(server, root)).code).toBe(0)
  await server.stop()
  const log = server.process.stderr()
  expect(log).toContain('"who":"tokens file","what":"remove-token","token":"rack"')
  for (const secret of [root, rack]) expect(log).not.toContain(secret)
})

test.concurrent('SIGHUP reloads, a broken file leaves what was good in force, and the log says what to change', async () => {
  const tokens = newTokens()
  const audit = folder.path('audit.jsonl')
  const root = await newToken(tokens, '--role', 'admin', '--name', 'ops')
  const server = await startServer(['--tokens', tokens], { BATON_AUDIT: audit })
  const forget = () => baton(['forget', 'x'], { BATON_SERVER: server.url, BATON_TOKEN: root })
  await forget()
  const moved = `${audit}.1`
  renameSync(audit, moved)
  server.process.kill('SIGHUP')
  await until('it has reloaded', () => server.process.stderr().includes('"tokens reloaded"'))
  await forget()
  for (const path of [moved, audit]) {
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ who: 'ops', what: 'forget', answer: 'forgotten' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
  }
  writeFileSync(tokens, `${readFileSync(tokens, 'utf8')}\n[[tokens]]\nrole = "king"\n`)
  await until('it is refused', () => server.process.stderr().includes('tokens.1.role'))
  expect((await status(server, root)).code).toBe(0)
  expect(server.process.stderr()).toContain('"tokens not reloaded"')
  expect((await server.stop()).code).toBe(0)
})

test.concurrent('an expired token is said to be that', async () => {
  const tokens = newTokens()
  await newToken(tokens, '--role', 'admin')
  const brief = await newToken(tokens, '--role', 'observe', '--expires', '1s')
  const server = await startServer(['--tokens', tokens])
  await until('it has expired', async () => (await status(server, brief)).code !== 0)
  // It may have expired in the middle of that one, which says so too.
  expect(await status(server, brief)).toMatchObject({
    code: 77,
    stderr: expect.stringMatching(/^baton: the token in BATON_TOKEN has expired, on 20/),
  })
  await server.stop()
})

test.concurrent('a certificate is enough where an entry names it; the one of the server is renewed while it runs', async () => {
  const authority = newAuthority()
  const file = (name: string, text: string) => {
    writeFileSync(folder.path(name), text)
    return folder.path(name)
  }
  const tokens = newTokens()
  await newToken(tokens, '--role', 'node', '--node', 'node-a', '--certificate', 'CN=node-a')
  const ca = file('ca.pem', authority.cert)
  const serve = (name: string) => {
    const { cert, key } = newCertificate({ by: authority, subject: `/CN=${name}` })
    return ['--tls-cert', file('server.pem', cert), '--tls-key', file('server.key', key), '--tls-ca', ca]
  }
  const server = await startServer(['--tokens', tokens, ...serve('first')])
  const client = (name: string) => {
    const { cert, key } = newCertificate({ by: authority, subject: `/CN=${name}` })
    return { ca: authority.cert, cert, key }
  }
  const asNode = client('node-a')
  const env = {
    BATON_SERVER: server.url,
    BATON_CA: ca,
    BATON_CERT: file('a.pem', asNode.cert),
    BATON_KEY: file('a.key', asNode.key),
  }
  const run = (node: string) => baton(['lock', 'x', '--node', node, '--', 'true'], env)
  expect((await run('node-a')).code).toBe(0)
  expect((await run('node-b')).code).toBe(77)
  const other = client('node-z')
  const unknown = { ...env, BATON_CERT: file('z.pem', other.cert), BATON_KEY: file('z.key', other.key) }
  expect(await baton(['status'], unknown)).toMatchObject({
    code: 77,
    stderr: expect.stringMatching(/^baton: the server has no entry for this certificate/),
  })

  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), ...asNode }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      }).on('error', reject)
    })
  expect(await shown()).toBe('first')
  serve('second')
  await until('the new one is shown', async () => (await shown()) === 'second')
  expect((await run('node-a')).code).toBe(0)
  await server.stop()
})

test.concurrent('what is wrong with a command is said with 64', async () => {
  const tokens = newTokens()
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await baton(['token', ...args])
    expect([args.join(' '), code, stdout]).toEqual([args.join(' '), 64, ''])
    return stderr
  }
  const cases: readonly [readonly string[], RegExp][] = [
    [['new', '--role', 'admin'], /no file is named; say --tokens FILE, or set BATON_TOKENS/],
    [['new', '--tokens', tokens], /no role is named; say --role node/],
    [['new', '--role', 'king', '--tokens', tokens], /'king' is not a role/],
    [['new', '--role', 'node', '--tokens', tokens], /name them with --node/],
    [['new', '--role', 'admin', '--node', 'a', '--tokens', tokens], /leave out --node/],
    [['new', '--role', 'admin', '--expires', 'soon', '--tokens', tokens], /'soon' is not a duration/],
    [['new', '--role', 'admin', '--expires', '2020-01-01T00:00:00Z', '--tokens', tokens], /is over already/],
    [['new', '--role', 'admin', '--expires', '2027-01-01', '--tokens', tokens], /is not a time with its zone/],
    [['list', '--tokens', '/no/such.toml'], /there is no such file/],
    [['revoke', '--tokens', tokens], /missing required argument/],
  ]
  const ends = await Promise.all(cases.map(async ([args, sentence]) => [await said(...args), sentence] as const))
  for (const [stderr, sentence] of ends) expect(stderr).toMatch(sentence)
})
