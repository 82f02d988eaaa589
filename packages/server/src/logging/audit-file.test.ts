import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { expect, onTestFinished, test } from 'vitest'
import { AuditFile } from './audit-file.ts'

function newAuditFile(name = 'audit.jsonl') {
  const folder = mkdtempSync(join(tmpdir(), 'baton-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, name)
  const { log, entries } = recordedLog()
  const open = () => new AuditFile({ path, log, wallMs: () => Date.UTC(2026, 0, 31) })
  return { path, open, entries }
}

const forget = (resource: string) => ({ who: 'ops', what: 'forget', resource, answer: 'forgotten' }) as const
const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n')

test('a new file is for its owner alone, and one that is there is continued', () => {
  const { path, open } = newAuditFile()
  open().write(forget('a'))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  open().write(forget('b'))
  expect(linesOf(path).map((line) => JSON.parse(line))).toEqual([
    { time: '2026-01-31T00:00:00.000Z', ...forget('a') },
    { time: '2026-01-31T00:00:00.000Z', ...forget('b') },
  ])
})

test('no name can begin a line of its own, or hide what stands in one', () => {
  const { path, open } = newAuditFile()
  open().write(forget('a\n{"who":"root"}\u2028\u202e\u001b[2K'))
  expect(linesOf(path)).toEqual([
    '{"time":"2026-01-31T00:00:00.000Z","who":"ops","what":"forget",' +
      '"resource":"a\\n{\\"who\\":\\"root\\"}\\u2028\\u202e\\u001b[2K","answer":"forgotten"}',
  ])
})

test('after the file was moved away it goes on in a new one', () => {
  const { path, open } = newAuditFile()
  const file = open()
  file.write(forget('a'))
  renameSync(path, `${path}.1`)
  file.write(forget('b'))
  file.reopen()
  file.write(forget('c'))
  expect([linesOf(`${path}.1`), linesOf(path)].map((lines) => lines.length)).toEqual([2, 1])
})

test('where no new file can be made it goes on in the old one, and says so', () => {
  const { path, open, entries } = newAuditFile()
  const file = open()
  renameSync(path, `${path}.1`)
  mkdirSync(path)
  file.reopen()
  file.write(forget('a'))
  expect(linesOf(`${path}.1`)).toHaveLength(1)
  expect(entries).toEqual([
    ['error', 'audit file cannot be opened again', { error: expect.stringContaining('EISDIR') }],
  ])
})

test('what cannot be written to the file is in the log', () => {
  const { path, open, entries } = newAuditFile()
  writeFileSync(path, '')
  const file = open()
  file.close()
  file.write(forget('a'))
  expect(entries).toEqual([
    ['error', 'audit file cannot be written', { audit: true, ...forget('a'), error: expect.stringContaining('EBADF') }],
  ])
})

test('a file that cannot be opened keeps the server from starting', () => {
  expect(newAuditFile('missing/audit.jsonl').open).toThrow(/ENOENT/)
})
