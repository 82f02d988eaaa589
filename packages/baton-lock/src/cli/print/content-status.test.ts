import type { ContentStatus } from '@baton-lock/containerd/serve'
import { expect, test } from 'vitest'
import { renderContentStatus } from './content-status.ts'

const quiet: ContentStatus = {
  node: 'node-a',
  isCoordinated: true,
  uses: { blobs: 1, bytes: 512 },
  fetched: { gets: 1, bytes: 512 },
  saved: { gets: 9, bytes: 3 * 1024 * 1024 },
  uncoordinated: 0,
  ingests: [],
  pulls: [],
  pending: 0,
  absentNodes: [],
}

test('a node at rest says what it has, what it fetched and what it was spared', () => {
  expect(renderContentStatus(quiet, 0)).toBe(`node-a
  lock     answers
  uses     1 blob, 512 B
  fetched  1 blob, 512 B
  saved    9 GETs, 3.0 MiB that other nodes had fetched
`)
})

test('a node at work says who pulls what and how far, and what is wrong', () => {
  const status: ContentStatus = {
    ...quiet,
    isCoordinated: false,
    uncoordinated: 2,
    pending: 3,
    absentNodes: ['node-c'],
    ingests: [
      { ref: 'r', digest: 'sha256:aa', stage: 'waiting', offset: 0, total: 2048, startedAtMs: 1_000 },
      { ref: 'an\u001b[31mupload', stage: 'left', offset: 100, total: 0, startedAtMs: 2_000 },
    ],
    pulls: [
      { digest: 'sha256:aa', node: 'node-b', bytes: 1024, total: 2048, sinceMs: 500, waiting: ['node-a'] },
      { digest: 'sha256:bb', node: 'node-a', sinceMs: 500, waiting: [] },
    ],
  }
  const text = renderContentStatus(status, 3_000)
  expect(text).toContain('lock           does NOT answer: pulls go on without it, or wait, as configured')
  expect(text).toContain('uncoordinated  2 blobs fetched without asking')
  expect(text).toContain('untold         3 changes that the lock server has yet to be told')
  expect(text).toContain('absent         the folders of node-c are not there')
  expect(text).toContain(`coming in here
  waiting  sha256:aa      0 B of 2.0 KiB (0 %)  for 2.0s
  left     an [31mupload  100 B                 for 1.0s
fetched in the cluster
  sha256:aa  by node-b  1.0 KiB of 2.0 KiB (50 %)  for 2.5s  waited for by node-a
  sha256:bb  by node-a                             for 2.5s
`)
})
