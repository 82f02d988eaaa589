import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, test } from 'vitest'
import { storeConformance } from '../conformance/index.ts'
import { openFileStore } from './file-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'baton-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

storeConformance({
  name: 'file',
  // So small that logs end, snapshots are written and resources fall asleep all the time.
  open: ({ data, ...options }) =>
    openFileStore({ ...options, directory: join(folder, data), logLimit: 65_536, liveLimit: 2 }),
  isKept: true,
  test,
})
