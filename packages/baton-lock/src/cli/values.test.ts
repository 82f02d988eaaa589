import { formatDuration } from '@baton-lock/protocol'
import { describe, expect, test } from 'vitest'
import { UsageError } from './exit.ts'
import { exactDuration, parseDuration } from './values.ts'

describe('durations', () => {
  test.each([
    ['0', 0],
    ['500ms', 500],
    ['2s', 2_000],
    ['1.5s', 1_500],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
  ])('%s is read', (text, ms) => expect(parseDuration(text)).toBe(ms))

  test.each(['', '10', 's', '-2s', '2 s', '2sec', '1e3s', 'forever'])("'%s' is refused with an example", (text) => {
    expect(() => parseDuration(text)).toThrow(UsageError)
    expect(() => parseDuration(text)).toThrow(/500ms, 2s, 10m, 1h or 7d/)
  })

  test('a duration outside of its limits is refused, and the limits are said', () => {
    const limits = { minMs: 1_000, maxMs: 86_400_000 }
    expect(() => parseDuration('10ms', limits)).toThrow(/use 1s to 24h/)
    expect(() => parseDuration('25h', limits)).toThrow(/use 1s to 24h/)
  })

  test.each([
    [-5, '0ms'],
    [340, '340ms'],
    [3_210, '3.2s'],
    [12_400, '12s'],
    [120_000, '2m'],
    [250_000, '4m 10s'],
    [3_600_000, '1h'],
    [7_500_000, '2h 5m'],
    [24 * 3_600_000 - 1, '1d'],
    [100 * 3_600_000, '4d 4h'],
    [8_760 * 3_600_000, '365d'],
  ])('%d ms is shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  test.each([
    [90_000, '90s'],
    [86_400_000, '24h'],
    [8_760 * 3_600_000, '365d'],
    [36 * 3_600_000, '36h'],
  ])('%d ms is written as %s', (ms, text) => {
    expect(exactDuration(ms)).toBe(text)
    expect(parseDuration(text)).toBe(ms)
  })
})
