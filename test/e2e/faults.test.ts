import { expect, test } from 'vitest'
import { expectObserved, forgetHistories, soak } from './soak-process.ts'

test('45 seconds of killed and stopped processes and broken networks: no violation, no stuck key, all events told once and in order', async () => {
  const soaked = await soak('--minutes', '0.75', '--clients', '12', '--seed', '1', '--observe')
  const { code, output } = soaked
  console.log(output)
  expect(code, output).toBe(0)
  for (const fault of ['client killed', 'client stopped', 'server stopped', 'blackhole', 'reset', 'half-closed'])
    expect(output).toMatch(new RegExp(`[1-9]\\d* ${fault}`))
  expectObserved(soaked)
}, 300_000)

test('a storage that does not check fences is written to by holders that stalled, and the harness sees it', async () => {
  const soaked = await soak('--minutes', '0.3', '--clients', '10', '--seed', '2', '--no-fence-check')
  const { code, output, violations } = soaked
  expect(code, output).toBe(1)
  expect(violations.length, output).toBeGreaterThan(0)
  for (const { invariant, resource, what } of violations)
    expect([invariant, resource, what]).toEqual([
      '2',
      expect.stringMatching(/^\w+ r\d$/),
      expect.stringMatching(/^a write with fence \d+ was accepted after one with/),
    ])
  forgetHistories(soaked)
}, 300_000)
