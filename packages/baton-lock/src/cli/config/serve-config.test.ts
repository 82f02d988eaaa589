// needs: openssl
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUOTAS } from '@baton-lock/protocol'
import { newCertificate } from '@baton-lock/test-support/certificates'
import { afterAll, describe, expect, test } from 'vitest'
import { UsageError } from '../exit.ts'
import { serveConfig } from './serve-config.ts'
import type { ServeSettings } from './serve-settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'baton-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function file(text: string): string {
  const path = join(folder, `${++files}.toml`)
  writeFileSync(path, text)
  return path
}

function resolve(flags: ServeSettings, env: NodeJS.ProcessEnv = {}) {
  const warnings: string[] = []
  return { ...serveConfig({ flags, env, warn: (sentence) => warnings.push(sentence) }), warnings }
}

const sha256 = 'ab'.repeat(32)

describe('the configuration of serve', () => {
  test('has safe defaults', () => {
    const { host, port, store, tokens, tls, policy } = resolve({})
    expect({ host, port, store, tokens, tls }).toEqual({
      host: '127.0.0.1',
      port: 8086,
      store: 'file:./baton-data',
      tokens: [],
      tls: undefined,
    })
    expect(policy.namespaces.default).toMatchObject({ queueing: true, exclusion: 'operation' })
  })

  test('file, environment, flags: later wins', () => {
    const config = file('host = "127.0.0.2"\nport = 1\nstore = "memory:file"')
    expect(resolve({ config })).toMatchObject({ host: '127.0.0.2', port: 1, store: 'memory:file' })
    expect(resolve({}, { BATON_CONFIG: config }).port).toBe(1)
    expect(resolve({ config }, { BATON_PORT: '2' })).toMatchObject({ host: '127.0.0.2', port: 2 })
    expect(resolve({ config, port: '3' }, { BATON_PORT: '2' }).port).toBe(3)
  })

  test('the log is of level info and in whatever format fits, until something else is said', () => {
    expect(resolve({})).toMatchObject({ logLevel: 'info', logFormat: undefined })
    const config = file('log_level = "warn"\nlog_format = "json"')
    expect(resolve({ config })).toMatchObject({ logLevel: 'warn', logFormat: 'json' })
    const env = { BATON_LOG_LEVEL: 'debug', BATON_LOG_FORMAT: 'pretty' }
    expect(resolve({ config }, env)).toMatchObject({ logLevel: 'debug', logFormat: 'pretty' })
    expect(resolve({ config, logLevel: 'silent' }, env)).toMatchObject({ logLevel: 'silent', logFormat: 'pretty' })
    expect(() => resolve({ logLevel: 'verbose' })).toThrow(
      "logLevel is 'verbose'; use debug or info or warn or error or silent",
    )
    expect(() => resolve({}, { BATON_LOG_FORMAT: 'xml' })).toThrow("logFormat is 'xml'; use json or pretty")
  })

  test('PORT is heard, BATON_PORT is heard more, an empty one is none', () => {
    expect(resolve({}, { PORT: '5' }).port).toBe(5)
    expect(resolve({}, { PORT: '5', BATON_PORT: '6' }).port).toBe(6)
    expect(resolve({}, { PORT: '' }).port).toBe(8086)
  })

  test.each(['70000', '-1', '80a', '1e3'])('%s is no port', (port) => {
    expect(() => resolve({ port })).toThrow(/not a port; use 0/)
  })

  test.each(['0', 'f', 'F', 'FALSE', 'false', 'False'])('ALLOW_MULTI_NODE_DOWNLOAD=%s turns queueing off', (value) => {
    const { policy, warnings } = resolve({}, { ALLOW_MULTI_NODE_DOWNLOAD: value })
    expect(policy.namespaces.default?.queueing).toBe(false)
    expect(warnings).toEqual([])
  })

  test.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('ALLOW_MULTI_NODE_DOWNLOAD=%s turns queueing on', (value) => {
    const config = file('[policy.namespaces.default]\nqueueing = false')
    const { policy, warnings } = resolve({ config }, { ALLOW_MULTI_NODE_DOWNLOAD: value })
    expect(policy.namespaces.default?.queueing).toBe(true)
    expect(warnings).toEqual([])
  })

  test.each(['yes', 'tRUE', ''])("ALLOW_MULTI_NODE_DOWNLOAD='%s' is a warning, and true", (value) => {
    const { policy, warnings } = resolve({}, { ALLOW_MULTI_NODE_DOWNLOAD: value })
    expect(policy.namespaces.default?.queueing).toBe(true)
    expect(warnings).toHaveLength(1)
  })

  test('the switches change the namespace default and leave the rest of the policy', () => {
    const config = file(
      '[policy.namespaces.default]\nclaimMs = 700\n[policy.namespaces.build.operations.compile]\nattempts = 3',
    )
    const { policy } = resolve({ config, queueing: false, exclusion: 'resource' })
    expect(policy.namespaces.default).toMatchObject({ claimMs: 700, queueing: false, exclusion: 'resource' })
    expect(policy.namespaces.build?.queueing).toBe(true)
    expect(policy.namespaces.build?.operations.compile).toMatchObject({ attempts: 3, waitersOnSuccess: 'next' })
    expect(policy.namespaces.build?.operations.pull?.addsReference).toBe(true)
  })

  test('BATON_NO_QUEUEING is the flag of that name; a flag undoes it', () => {
    expect(resolve({}, { BATON_NO_QUEUEING: 'true' }).policy.namespaces.default?.queueing).toBe(false)
    expect(resolve({ queueing: true }, { BATON_NO_QUEUEING: 'true' }).policy.namespaces.default?.queueing).toBe(true)
    expect(() => resolve({}, { BATON_INSECURE: 'perhaps' })).toThrow(/BATON_INSECURE.*true or false/)
  })

  test.each(['0.0.0.0', '::', '10.1.2.3', 'example.org'])('%s needs tokens or --insecure', (host) => {
    expect(() => resolve({ host })).toThrow(UsageError)
    expect(() => resolve({ host })).toThrow(/--tokens FILE.*--insecure/)
    expect(resolve({ host, insecure: true }).host).toBe(host)
    expect(resolve({ host, config: file(`[[tokens]]\nsha256 = "${sha256}"\nrole = "admin"`) }).tokens).toHaveLength(1)
  })

  test.each(['127.0.0.1', '127.9.9.9', 'localhost', '::1'])('%s needs neither', (host) => {
    expect(resolve({ host }).host).toBe(host)
  })

  test('the names that it is called by come from file, environment or flag, and the one that it listens at is among them', () => {
    const config = file('allowed_hosts = ["a.example", "b.example"]')
    const names = (flags: ServeSettings, env?: NodeJS.ProcessEnv) => resolve(flags, env).allowedHosts
    expect(names({})).toEqual(['127.0.0.1'])
    expect(names({ host: 'c.example', insecure: true })).toEqual(['c.example'])
    expect(names({ config })).toEqual(['a.example', 'b.example', '127.0.0.1'])
    expect(names({ config }, { BATON_ALLOWED_HOST: 'd.example, e' })).toEqual(['d.example', 'e', '127.0.0.1'])
    expect(names({ config: file('allowed_hosts = []') })).toEqual(['127.0.0.1'])
    expect(names({ config, allowedHost: 'f' }, { BATON_ALLOWED_HOST: 'e' })).toEqual(['f', '127.0.0.1'])
  })

  test.each(['http://a.example', 'a.example:8086', '*', 'a b', ''])("'%s' is no name of a host", (allowedHost) => {
    expect(() => resolve({ allowedHost })).toThrow(UsageError)
    expect(() => resolve({ allowedHost })).toThrow(/write it alone, without port or scheme/)
  })

  test('tokens of a file of their own replace those of the config', () => {
    const config = file(`[[tokens]]\nsha256 = "${sha256}"\nrole = "admin"`)
    const tokens = file(`[[tokens]]\nsha256 = "${sha256.toUpperCase()}"\nrole = "node"\nnodes = ["a"]\nnamespace = "n"`)
    const token = { name: 'abababab', sha256, role: 'node', nodes: ['a'], namespace: 'n' }
    expect(resolve({ config, tokens }).tokens).toEqual([token])
  })

  test.each(['api-*', '*', 'node-a'])('a token may name its nodes by %s', (pattern) => {
    const tokens = file(`[[tokens]]\nsha256 = "${sha256}"\nrole = "node"\nnodes = ["${pattern}"]`)
    expect(resolve({ tokens }).tokens).toMatchObject([{ nodes: [pattern] }])
  })

  test.each(['a*b', '*x', '**', 'node-?', 'node-[0-9]', '{a,b}'])('a server does not start with %s', (pattern) => {
    const tokens = file(`[[tokens]]\nsha256 = "${sha256}"\nrole = "node"\nnodes = ["node-a", "${pattern}"]`)
    const place = 'tokens.0.nodes.1: '
    const sentence = `${place}"${pattern}" is not supported; write the name of a node ("node-a"), the beginning of names ("api-*"), or "*"`
    expect(() => resolve({ tokens })).toThrow(sentence)
    expect(() => resolve({ tokens })).toThrow(UsageError)
  })

  test.each(['', 'tokens = []'])('a file of tokens with none in it (%j) lets nobody in unseen', (text) => {
    const tokens = file(text)
    const sentence = /\.toml has to be changed: tokens: there is none; write \[\[tokens\]\] .*to let everybody in$/
    expect(() => resolve({ tokens })).toThrow(sentence)
    expect(() => resolve({ tokens })).toThrow(UsageError)
  })

  test('nor does an empty list in the configuration', () => {
    expect(() => resolve({ config: file('tokens = []') })).toThrow(/tokens: there is none/)
  })

  test('what is not a certificate is refused by name', () => {
    const tlsCert = file('no certificate')
    expect(() => resolve({ tlsCert, tlsKey: file('no key') })).toThrow(`TLS cannot use ${tlsCert}`)
  })

  test('a certificate without its key is refused', () => {
    expect(() => resolve({ config: file('[tls]\ncert = "server.pem"') })).toThrow(/--tls-key FILE/)
    expect(() => resolve({ tlsCert: file('') })).toThrow(/--tls-key FILE/)
  })

  test.each([
    ['hots = "x"', /hots/],
    ['port = "x"', /port/],
    ['[tls]\ncerts = "x"', /tls.*certs/],
    ['result_limit = true', /result_limit/],
    ['[[tokens]]\nsha256 = "secret"\nrole = "admin"', /sha256sum/],
    [
      `[[tokens]]\nsha256 = "${sha256}"\nrole = "node"`,
      /changed: tokens\.0\.nodes: a token of the role node acts for the nodes that it names; write nodes = \["node-a"\]$/,
    ],
    [`[[tokens]]\nsha256 = "${sha256}"\nrole = "observe"\nnodes = ["a"]`, /only a token of the role node has nodes/],
    ['[policy.namespaces.default]\nexclusion = "world"', /policy.*exclusion|exclusion/],
    ['host = ', /is not TOML: line 1/],
  ])('%s is refused with the place that is wrong', (text, sentence) => {
    expect(() => resolve({ config: file(text) })).toThrow(UsageError)
    expect(() => resolve({ config: file(text) })).toThrow(sentence)
  })

  test('what a node and a token may have stands in the file, as far as it is to be other than usual', () => {
    expect(resolve({}).quotas).toEqual(QUOTAS)
    const config = file('[quotas.node]\nplaces = 500\n[quotas.token]\nsessions = 7')
    const { node, token } = QUOTAS
    expect(resolve({ config }).quotas).toEqual({ node: { ...node, places: 500 }, token: { ...token, sessions: 7 } })
    expect(() => resolve({ config: file('[quotas.node]\nplaces = 0') })).toThrow(/quotas\.node\.places/)
  })

  test('the largest result is 16 KiB, or what is said in bytes or KiB, 256 KiB at most', () => {
    expect(resolve({}).resultLimit).toBe(16_384)
    expect(resolve({ config: file('result_limit = 20000') }).resultLimit).toBe(20_000)
    const config = file('result_limit = "64KiB"')
    expect(resolve({ config }).resultLimit).toBe(65_536)
    expect(resolve({ config }, { BATON_RESULT_LIMIT: '256KiB' }).resultLimit).toBe(262_144)
    expect(resolve({ config, resultLimit: '16384' }, { BATON_RESULT_LIMIT: '256KiB' }).resultLimit).toBe(16_384)
  })

  test.each([
    ['257KiB', /out of range; use 1 to 262144 bytes/],
    ['0', /out of range/],
    ['64KB', /not a size; write it like 16384 or 64KiB/],
    ['-1', /not a size/],
    ['', /not a size/],
  ])('%s is no limit for a result', (resultLimit, sentence) => {
    expect(() => resolve({ resultLimit })).toThrow(UsageError)
    expect(() => resolve({ resultLimit })).toThrow(sentence)
  })

  test('tokens and certificates are read anew from where they came from', () => {
    const { cert, key } = newCertificate()
    const tls = { tlsCert: file(cert), tlsKey: file(key) }
    const tokens = file(`[[tokens]]\nsha256 = "${sha256}"\nrole = "admin"`)
    const { reloadable } = resolve({ ...tls, tokens, config: file('port = 1') })
    expect(reloadable.files).toEqual([tokens, tls.tlsCert, tls.tlsKey])
    writeFileSync(tokens, `[[tokens]]\nname = "eyes"\nsha256 = "${sha256}"\nrole = "observe"`)
    expect(reloadable.readTokens()).toMatchObject([{ name: 'eyes' }])
    const other = newCertificate()
    writeFileSync(tls.tlsCert, other.cert)
    // Of another key: as good as none.
    expect(() => reloadable.readTls()).toThrow(/TLS cannot use .*belong together/)
    writeFileSync(tls.tlsKey, other.key)
    expect(reloadable.readTls()).toEqual(other)
    writeFileSync(tokens, 'tokens = []')
    expect(() => reloadable.readTokens()).toThrow(/there is none/)
  })

  test('tokens of the configuration are read anew too, and it may get its first ones', () => {
    const config = file('port = 1')
    const { reloadable } = resolve({ config })
    expect([reloadable.files, reloadable.readTokens()]).toEqual([[config], []])
    writeFileSync(config, `[[tokens]]\nsha256 = "${sha256}"\nrole = "admin"`)
    expect(reloadable.readTokens()).toHaveLength(1)
    expect(resolve({}).reloadable.files).toEqual([])
  })

  test('a certificate among the tokens needs an authority whose certificates are asked for', () => {
    const { cert, key } = newCertificate()
    const tls = { tlsCert: file(cert), tlsKey: file(key) }
    const tokens = file('[[tokens]]\ncertificate = "CN=node-a"\nrole = "observe"')
    expect(() => resolve({ tokens })).toThrow(UsageError)
    expect(() => resolve({ tokens, ...tls })).toThrow(/CN=node-a.*name the authority .* --tls-ca FILE$/)
    expect(resolve({ tokens, ...tls, tlsCa: tls.tlsCert }).tokens).toHaveLength(1)
  })

  test('the audit file is named by flag, environment or file', () => {
    expect(resolve({}).audit).toBeUndefined()
    expect(resolve({ config: file('audit = "a.jsonl"') }).audit).toBe('a.jsonl')
    expect(resolve({}, { BATON_AUDIT: 'b.jsonl' }).audit).toBe('b.jsonl')
    expect(resolve({ audit: 'c.jsonl' }, { BATON_AUDIT: 'b.jsonl' }).audit).toBe('c.jsonl')
  })

  test('a file that is not there is refused by name', () => {
    expect(() => resolve({ config: '/no/such.toml' })).toThrow(/\/no\/such\.toml: there is no such file/)
  })
})
