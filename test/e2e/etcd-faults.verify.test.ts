// needs: etcd
import { expect, test } from 'vitest'
import { expectObserved, soak, TWENTY_SECONDS } from './soak-process.ts'

/** What befalls watches and the ways to the members is never far apart. */
const WAYS = ['watches silenced', 'ways to etcd reset', 'compacted', 'compacted in mid-wait']
const LEADER = ['leader killed', 'leader stopped', 'leader cut off']
const FOLLOWER = ['follower killed', 'follower stopped', 'follower cut off']

/** Seeds that bring many kinds of faults within some seconds. All kinds: `npm run soak -- --store etcd: --minutes 10`. */
const [SEED, LIBRARY_SEED] = ['5', '7']

/** How far such a run comes depends on the machine: of each of these lists, one kind at least. */
function expectAnyOf(output: string, ...lists: readonly (readonly string[])[]): void {
  for (const kinds of lists) expect(output).toMatch(new RegExp(`\\b[1-9]\\d* (${kinds.join('|')})`))
}

test('three servers on an etcd whose members are killed, stopped and cut off, as they are: no violation, no stuck key', async () => {
  const flags = ['--store', 'etcd:', '--servers', '3', '--kill-servers', '--clients', '8', '--seed', SEED, '--observe']
  const soaked = await soak('--minutes', TWENTY_SECONDS, ...flags)
  const { code, output } = soaked
  console.log(output)
  expect(code, output).toBe(0)
  expectAnyOf(output, WAYS, LEADER, FOLLOWER, ['quorum lost'], ['server killed', 'server stopped'])
  expectAnyOf(output, ['client killed', 'client stopped'], ['hand-overs'], ['grants'])
  expectObserved(soaked)
}, 300_000)

test('processes without a server, on an etcd whose members are hurt like that: the same', async () => {
  // Four processes that open the store themselves, again and again: how much they get done is the longer runs' business.
  const flags = ['--store', 'etcd:', '--library', '--clients', '4', '--seed', LIBRARY_SEED]
  const { code, output } = await soak('--minutes', TWENTY_SECONDS, ...flags)
  console.log(output)
  expect(code, output).toBe(0)
  expectAnyOf(output, WAYS, [...LEADER, ...FOLLOWER])
}, 300_000)
