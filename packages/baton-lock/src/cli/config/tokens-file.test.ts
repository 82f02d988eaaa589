import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { UsageError } from '../exit.ts'
import { addEntry, entriesOf, type NewEntry, removeEntry, withoutEntry } from './tokens-file.ts'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const created = new Date('2026-01-31T12:00:00.123Z')
const admin: NewEntry = { role: 'admin', created }

function newFolder(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'baton-tokens-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return (name) => join(folder, name)
}

const byHand = `# Who may enter.

[[tokens]] # the machines
# of the first rack
sha256 = "${'0'.repeat(64)}"
role = "node"
nodes = [
  "node-a",
  "node-b", # new
]

# For people:
[[tokens]]
name = "eyes"
sha256 = "${'1'.repeat(64)}"
role = "observe"
# the end`

test('a new token is printed once, and its hash is in a file for its owner alone', () => {
  const path = newFolder()('tokens.toml')
  const nodes = ['node-a', 'node "b"\u202e']
  const expires = new Date('2026-05-01T12:00:00Z')
  const { token, secret } = addEntry(path, { role: 'node', nodes, namespace: 'team', name: 'rack-1', created, expires })
  expect(secret).toMatch(/^baton_[\w-]{43}$/)
  expect(token).toMatchObject({
    name: 'rack-1',
    sha256: sha256(secret!),
    role: 'node',
    nodes,
    namespace: 'team',
    expires,
  })
  expect(readFileSync(path, 'utf8')).toBe(
    `[[tokens]]\nname = "rack-1"\nsha256 = "${sha256(secret!)}"\nrole = "node"\n` +
      'nodes = ["node-a", "node \\"b\\"\\u202e"]\nnamespace = "team"\n' +
      'created = 2026-01-31T12:00:00Z\nexpires = 2026-05-01T12:00:00Z\n',
  )
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(entriesOf(path)).toEqual([token])
  expect(addEntry(path, admin).secret).not.toBe(secret)
})

test('what was there stays as it was: text, mode, and that it is a link', () => {
  const at = newFolder()
  writeFileSync(at('real.toml'), byHand)
  chmodSync(at('real.toml'), 0o640)
  symlinkSync(at('real.toml'), at('tokens.toml'))
  const { token, secret } = addEntry(at('tokens.toml'), admin)
  expect(token.name).toBe(sha256(secret!).slice(0, 8))
  expect(readFileSync(at('real.toml'), 'utf8').startsWith(`${byHand}\n\n[[tokens]]\nname = "${token.name}"\n`)).toBe(
    true,
  )
  expect(statSync(at('real.toml')).mode & 0o777).toBe(0o640)
  expect(readlinkSync(at('tokens.toml'))).toBe(at('real.toml'))
  expect(existsSync(at('real.toml.new'))).toBe(false)
})

test('a certificate is entered without a secret, under its own name', () => {
  const path = newFolder()('tokens.toml')
  const added = addEntry(path, { role: 'node', nodes: ['node-a'], certificate: 'CN=node-a', created })
  expect(added).toEqual({ token: expect.objectContaining({ name: 'CN=node-a', certificate: 'CN=node-a' }) })
})

test('a revoked one is gone, and nothing else, comments included', () => {
  const path = newFolder()('tokens.toml')
  writeFileSync(path, byHand)
  removeEntry(path, '00000000')
  expect(readFileSync(path, 'utf8')).toBe(byHand.replace(/\[\[tokens\]\] # the machines.*?\n\]\n\n/s, ''))
  addEntry(path, { ...admin, name: 'ops' })
  removeEntry(path, 'eyes')
  expect(readFileSync(path, 'utf8')).toMatch(
    /^# Who may enter\.\n\n# For people:\n# the end\n\n\[\[tokens\]\]\nname = "ops"\n/,
  )
  expect(entriesOf(path).map(({ name }) => name)).toEqual(['ops'])
})

test('what cannot be done is said, and changes nothing', () => {
  const at = newFolder()
  writeFileSync(at('tokens.toml'), byHand)
  const refused = (change: () => unknown, sentence: string | RegExp) => {
    expect(change).toThrow(UsageError)
    expect(change).toThrow(sentence)
    expect(readFileSync(at('tokens.toml'), 'utf8')).toBe(byHand)
  }
  const path = at('tokens.toml')
  refused(() => removeEntry(path, 'nobody'), "has no token with the name 'nobody'; `baton token list")
  refused(() => addEntry(path, { ...admin, name: 'eyes' }), "has a token with the name 'eyes'; give this one another")
  refused(() => addEntry(path, { ...admin, certificate: 'node-a' }), 'certificate: must be "CN=node-a"')
  refused(() => addEntry(path, { ...admin, name: 'a\u0000' }), 'name: must be 1 to 512 bytes')
  refused(() => removeEntry(at('missing.toml'), 'eyes'), 'there is no such file')
  refused(() => addEntry(at('missing/tokens.toml'), admin), 'cannot write')
  writeFileSync(at('server.toml'), 'host = "0.0.0.0"\n')
  refused(() => addEntry(at('server.toml'), admin), /has to be changed: .*host/)
  // Somebody else is at it, or was killed there.
  writeFileSync(`${path}.new`, '')
  refused(() => removeEntry(path, 'eyes'), /somebody else changes the file; .* remove it/)
})

test('the only token is not taken out: a server would go on with it', () => {
  const path = newFolder()('tokens.toml')
  const { token } = addEntry(path, admin)
  expect(() => removeEntry(path, token.name)).toThrow(/is the only token in .*; make another first: baton token new/)
})

test('a file that is not written entry by entry is left to people', () => {
  const inline = `tokens = [{ sha256 = "${'0'.repeat(64)}", role = "admin" }, { sha256 = "${'1'.repeat(64)}", role = "admin" }]`
  expect(withoutEntry(inline, 0)).toBeUndefined()
  const inText = `[[tokens]]\nname = """\n[[tokens]]\n"""\nrole = "a"\n[[tokens]]\nrole = "b"\n`
  expect(withoutEntry(inText, 1)).toBeUndefined()
})
