import { expect, test } from 'vitest'
import { prettyLines } from './pretty-lines.ts'

function newLog(paint?: (colour: string, text: string) => string) {
  const lines: string[] = []
  return { lines, log: prettyLines((line) => lines.push(line), { level: 'debug', ...(paint && { paint }) }) }
}

const withoutTime = (line: string) => line.replace(/^\S+Z /, '')

test('an entry is time, level, message and fields', () => {
  const { lines, log } = newLog()
  log.warn('slow reader cut', { unreadBytes: 7, from: '127.0.0.1', why: 'it is slow', more: { a: [1] }, empty: '' })
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARN {2}slow/)
  expect(withoutTime(lines[0]!)).toBe(
    'WARN  slow reader cut unreadBytes=7 from=127.0.0.1 why="it is slow" more={"a":[1]} empty=""',
  )
})

test('levels and names are coloured where there are colours', () => {
  const { lines, log } = newLog((colour, text) => `<${colour}>${text}</>`)
  log.error('internal error', { a: 1 })
  expect(lines[0]).toMatch(/^<dim>\S+Z<\/> <red>ERROR<\/> <bold>internal error<\/> <dim>a=<\/>1$/)
})

test('nothing that others wrote is obeyed, ends an entry or passes for another field', () => {
  const { lines, log } = newLog()
  log.info('x', { a: 'b c=d', b: 'x\u001b[2J\u202e\u0085', c: 'y"', d: 'z\\', e: '\u00a0', f: '\u{e000}', g: 'ü' })
  expect(withoutTime(lines[0]!)).toBe(
    'INFO  x a="b c=d" b="x\\u001b[2J\\u202e\\u0085" c="y\\"" d="z\\\\" e="\u00a0" f="\u{e000}" g=ü',
  )
})

test('a text of several lines follows below its entry, so that none of them passes for an entry', () => {
  const { lines, log } = newLog()
  const forged = '2026-01-01T00:00:00.000Z ERROR forged'
  log.error('internal error', { error: `TypeError: \u001b[2J\n${forged}\n    at x`, code: 1 })
  expect(lines[0]!.split('\n').map(withoutTime)).toEqual([
    'ERROR internal error code=1',
    '  error:',
    '    TypeError:  [2J',
    `    ${forged}`,
    '        at x',
  ])
})
