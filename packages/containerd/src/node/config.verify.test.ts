import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { contentConfigOf, readContentConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'baton-content-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const nodes = { 'node-a': { root: '/data/a' }, 'node-b': { root: '/data/b' } }
const settings = { current_node: 'node-a', servers: ['http://10.0.0.1:8086'], nodes }
const of = (changes: object) => contentConfigOf({ ...settings, ...changes }, 'content.toml')

function file(text: string): string {
  const path = join(folder, 'content.toml')
  writeFileSync(path, text)
  return path
}

test('the file that users have already is taken as it is', () => {
  const config = readContentConfig(
    file(`
current_node = "node-b"
socket_path = "/run/store.sock"
[nodes.node-a]
root = "/data/a"
ip = "10.0.0.1"
lock_server = "10.0.0.1:8086"
[nodes.node-b]
root = "/data/b/"
ip = "10.0.0.2"
lock_server = "http://10.0.0.2:8086"
`),
  )
  expect(config).toMatchObject({
    node: 'node-b',
    socketPath: '/run/store.sock',
    lock: { servers: ['http://10.0.0.2:8086'] },
    whenUnavailable: 'pull-anyway',
    token: undefined,
    warnings: [],
  })
  expect(config.own).toMatchObject({ host: '/data/b/host', merged: '/data/b/merged' })
  expect([...config.nodes.keys()]).toEqual(['node-a', 'node-b'])
})

test('a lock server may be a host and a port, and what stands at the top wins', () => {
  const withServer = { nodes: { 'node-a': { root: '/data/a', lock_server: '10.0.0.9:1' } } }
  expect(of({ ...withServer, servers: undefined }).lock).toEqual({ servers: ['http://10.0.0.9:1'] })
  expect(of({ ...withServer, servers: ['https://lock.example', '10.0.0.1:8086'] }).lock).toEqual({
    servers: ['https://lock.example', 'http://10.0.0.1:8086'],
  })
  expect(of({ ...withServer, servers: undefined, store: 'mysql://db/baton' }).lock).toEqual({
    store: 'mysql://db/baton',
  })
})

test('the token is that of a file', () => {
  const token = join(folder, 'token')
  writeFileSync(token, 'secret\n')
  expect(of({ token_file: token }).token).toBe('secret')
  expect(() => of({ token_file: join(folder, 'none') })).toThrow(/none \(token_file\): there is no such file/)
})

test('what is not known is a warning: it may be misspelt', () => {
  expect(of({ when_unavailble: 'wait' }).warnings).toEqual([
    expect.stringContaining("'when_unavailble' is not known and does nothing; known are current_node,"),
  ])
})

test.each([
  ['another node', { current_node: 'node-z' }, /current_node is 'node-z', and \[nodes\] has node-a, node-b; name one/],
  ['no nodes', { nodes: {} }, /and \[nodes\] has none/],
  ['no server', { servers: undefined }, /names no lock server: add servers = \["http:\/\/HOST:8086"\]/],
  ['both', { store: 'mysql://x' }, /servers and store exclude one another/],
  ['not a server', { servers: ['ftp://x'] }, /'ftp:\/\/x' is no lock server; write it like/],
  ['not a server', { servers: [':80'] }, /':80' is no lock server/],
  ['one root', { nodes: { 'node-a': { root: '/d' }, b: { root: '/d/' } } }, /node-a and b have the same root \/d/],
  ['a relative root', { nodes: { 'node-a': { root: 'd' } } }, /nodes.node-a.root: must be an absolute path/],
  ['a pattern', { nodes: { 'node-a': { root: '/d*' } } }, /nodes.node-a.root: must be a path without : = \*/],
  ['a long socket', { socket_path: `/${'s'.repeat(107)}` }, /socket_path: must have 107 bytes at most/],
  ['another mode', { when_unavailable: 'pray' }, /when_unavailable/],
])('%s is refused with what to change', (_, changes, sentence) => {
  expect(() => of(changes)).toThrow(sentence)
  expect(() => of(changes)).toThrow(expect.objectContaining({ code: 'bad-config' }))
})

test('what is not TOML is refused with the place', () => {
  expect(() => readContentConfig(file('current_node = '))).toThrow(/is not TOML: line 1, column/)
  expect(() => readContentConfig(join(folder, 'none.toml'))).toThrow(
    /none.toml \(the configuration\): there is no such/,
  )
})
