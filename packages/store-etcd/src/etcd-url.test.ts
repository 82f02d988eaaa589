import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { targetOf } from './etcd-url.ts'

let folder: string
let file: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'baton-etcd-url-'))
  file = join(folder, 'some.pem')
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n')
  writeFileSync(`${folder}/empty`, '')
})
afterAll(() => rmSync(folder, { recursive: true }))

test('the least of a URL is a host', () => {
  expect(targetOf('etcd://h1')).toEqual({
    endpoints: ['h1:2379'],
    prefix: 'baton/',
    compactMs: 300_000,
    name: 'etcd://h1:2379/baton/',
  })
})

test('it names members, user, prefix, files and how much is kept', () => {
  const text = `etcd://me:p%40ss%3Aw%2Frd@h1:2379,h2:12379,[::1],10.0.0.1/a/b?ca=${file}&cert=${file}&key=${file}&compact=1h`
  expect(targetOf(text)).toEqual({
    endpoints: ['h1:2379', 'h2:12379', '[::1]:2379', '10.0.0.1:2379'],
    prefix: 'a/b/',
    login: { user: 'me', password: 'p@ss:w/rd' },
    tls: { ca: file, cert: file, key: file },
    compactMs: 3_600_000,
    name: 'etcd://h1:2379,h2:12379,[::1]:2379,10.0.0.1:2379/a/b/',
  })
})

test('a prefix ends with a slash, may begin with one, and may be anything', () => {
  const prefixOf = (path: string) => targetOf(`etcd://h${path}`).prefix
  expect(['', '/', '/a', '/a/', '/a/b', '//a', '/a%20b%3F', '/ä'].map(prefixOf)).toEqual([
    'baton/',
    'baton/',
    'a/',
    'a/',
    'a/b/',
    '/a/',
    'a b?/',
    'ä/',
  ])
})

test('a password may hold a colon', () => {
  expect(targetOf('etcd://me:a:b@h').login).toEqual({ user: 'me', password: 'a:b' })
})

test('a member that is named twice is one', () => {
  expect(targetOf('etcd://h,h:2379,h:02379').endpoints).toEqual(['h:2379'])
})

describe('TLS', () => {
  const tlsOf = (options: string) => targetOf(`etcd://h/?${options}`).tls

  test('is asked for by tls=, ca= or a client certificate', () => {
    expect(tlsOf('')).toBeUndefined()
    expect(tlsOf('tls=false')).toBeUndefined()
    expect(tlsOf('tls=true')).toEqual({})
    expect(tlsOf(`ca=${file}`)).toEqual({ ca: file })
    expect(tlsOf(`cert=${file}&key=${file}`)).toEqual({ cert: file, key: file })
    expect(tlsOf(`tls=true&ca=${file}`)).toEqual({ ca: file })
  })

  test('what is wrong is said', () => {
    expect(() => tlsOf('tls=yes')).toThrow('tls= takes true or false')
    expect(() => tlsOf(`cert=${file}`)).toThrow('a client certificate takes both: cert=FILE and key=FILE')
    expect(() => tlsOf(`key=${file}`)).toThrow('a client certificate takes both')
    expect(() => tlsOf(`tls=false&ca=${file}`)).toThrow('are for TLS: leave them out, or tls=false')
    expect(() => tlsOf(`ca=${folder}/missing`)).toThrow(
      `ca= takes a file with certificates of the authorities to trust (PEM), and '${folder}/missing' cannot be read (ENOENT)`,
    )
    expect(() => tlsOf(`cert=${folder}/empty&key=${file}`)).toThrow(
      `cert= takes a file with a certificate for this client (PEM), and '${folder}/empty' holds none`,
    )
    expect(() => tlsOf(`cert=${file}&key=${folder}/empty`)).toThrow(
      'key= takes a file with the private key of cert= (PEM)',
    )
  })
})

test('how much of the past is kept is a duration, or off', () => {
  const compactMsOf = (text: string) => targetOf(`etcd://h?compact=${text}`).compactMs
  expect(['30s', '5m', '1h', '2d', 'off'].map(compactMsOf)).toEqual([
    30_000,
    300_000,
    3_600_000,
    172_800_000,
    undefined,
  ])
  for (const wrong of ['', '0s', '5', '-1m', '5 m', 'on', '400d', '1.5h']) {
    expect(() => compactMsOf(wrong)).toThrow('compact= takes how much of the past is kept, like 30s, 5m or 1h, or off')
  }
})

test('what is not a URL of a store in etcd is answered with one that is, and never with a password', () => {
  const wrong = [
    'etcd:',
    'etcd://',
    'etcd:///prefix',
    'etcds://h',
    'http://h',
    'etcd://h:0',
    'etcd://h:65536',
    'etcd://h:x',
    'etcd://h1,',
    'etcd://h1,,h2',
    'etcd://::1',
    'etcd://h 1',
    'etcd://me:hush@secret@h',
    'etcd://me:hush/secret@h',
    'etcd://me:hush%zz@h',
    'etcd://h#x',
  ]
  for (const url of wrong) {
    expect(() => targetOf(url), url).toThrow(TypeError)
    expect(() => targetOf(url), url).toThrow('a store in etcd is named like etcd://h1:2379,h2:2379,h3:2379/prefix')
    expect(() => targetOf(url), url).not.toThrow(/hush|secret/)
  }
})

test('a user comes with a password', () => {
  for (const url of ['etcd://me@h', 'etcd://me:@h', 'etcd://:secret@h']) {
    expect(() => targetOf(url)).toThrow('a user of etcd comes with a password: etcd://user:password@host:2379')
  }
})

test('an option that is not known is named', () => {
  expect(() => targetOf('etcd://h?prefix=a')).toThrow(
    "'prefix' means nothing here; known are ca, cert, compact, key, tls",
  )
})
