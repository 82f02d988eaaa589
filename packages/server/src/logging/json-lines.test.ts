import type { LogLevel } from '@baton-lock/service'
import { expect, test } from 'vitest'
import { jsonLines, type LinesOptions } from './json-lines.ts'

const HOSTILE = 'a\n{"message":"forged"}\u001b[2J\u009b2J\u0085\u2028\u202e\u2066\ud800'

function newLog(options?: LinesOptions) {
  const lines: string[] = []
  return { lines, log: jsonLines((line) => lines.push(line), options) }
}

test.each(['short', HOSTILE, HOSTILE.repeat(20), '\ud800', '\udc00\ud800', '\u{1f600}'])(
  'an entry is one line of JSON that no terminal obeys, and means what was logged: %j',
  (error) => {
    const { lines, log } = newLog()
    log.child({ node: error }).error('internal error', { error, in: { depth: [error] } })
    expect(lines).toHaveLength(1)
    expect(lines[0]!.replaceAll('\u{1f600}', '')).toMatch(/^[\x20-\x7e]+$/)
    expect(JSON.parse(lines[0]!)).toEqual({
      level: 'error',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      message: 'internal error',
      node: error,
      error,
      in: { depth: [error] },
    })
  },
)

test.each<[LogLevel | 'silent', string[]]>([
  ['debug', ['debug', 'info', 'warn', 'error']],
  ['info', ['info', 'warn', 'error']],
  ['warn', ['warn', 'error']],
  ['error', ['error']],
  ['silent', []],
])('from the level %s on, entries are written', (level, written) => {
  const { lines, log } = newLog({ level })
  for (const each of [log, log.child({ a: 1 })]) {
    expect(each.isDebug).toBe(level === 'debug')
    for (const one of ['debug', 'info', 'warn', 'error'] as const) each[one](one)
  }
  expect(lines.map((line) => JSON.parse(line).level)).toEqual([...written, ...written])
})

test('what lets in whoever knows it is not written, wherever it stands', () => {
  const { lines, log } = newLog()
  const secrets = { authorization: 'Bearer s3cret', secret: 's3cret', session: 's3cret', hold: 's3cret' }
  log.info('once', secrets)
  log.child(secrets).info('and again', { password: 's3cret', sha256: 's3cret' })
  expect(lines.join()).not.toContain('s3cret')
  expect(JSON.parse(lines[0]!)).toMatchObject({ authorization: '[redacted]', session: '[redacted]' })
})

test('a message with percent signs is written as it is', () => {
  const { lines, log } = newLog()
  log.info('100 %s %d', { a: 1 })
  expect(JSON.parse(lines[0]!)).toMatchObject({ message: '100 %s %d', a: 1 })
})
