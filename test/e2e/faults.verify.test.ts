import { expect, test } from 'vitest'
import { expectMet, expectObserved, forgetHistories, soak, TWENTY_SECONDS } from './soak-process.ts'

/** A seed that brings every kind of fault within some seconds; `npm run soak -- --minutes 10` is the long run. */
const SEED = '82'

test('20 seconds of killed and stopped processes and broken networks: no violation, no stuck key, all events told once and in order', async () => {
  const soaked = await soak('--minutes', TWENTY_SECONDS, '--clients', '8', '--seed', SEED, '--observe')
  const { code, output } = soaked
  console.log(output)
  expect(code, output).toBe(0)
  const faults = ['client killed', 'client stopped', 'server stopped', 'blackhole', 'reset', 'half-closed']
  // Asks that a server was told to forget: that is said on streams alone.
  expectMet(output, [...faults, 'broken in the middle there', 'broken in the middle back', 'acknowledged'])
  expectObserved(soaked)
}, 300_000)

test('a storage that does not check fences is written to by holders that stalled, and the harness sees it', async () => {
  const soaked = await soak('--minutes', '0.2', '--clients', '8', '--seed', '2', '--no-fence-check')
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
