import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WatchedFiles } from './watched-files.ts'

function watching(names: readonly string[], prepare: (at: (name: string) => string) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-watch-'))
  const at = (name: string) => join(folder, name)
  prepare(at)
  let changes = 0
  const troubles: string[] = []
  const watched = new WatchedFiles(names.map(at), {
    onChange: () => changes++,
    onTrouble: (place) => troubles.push(place),
  })
  onTestFinished(() => {
    watched.close()
    rmSync(folder, { recursive: true })
  })
  /** Waits for the system to tell. */
  const told = (count: number) => expect.poll(() => changes, { timeout: 5_000, interval: 20 }).toBe(count)
  return { at, told, troubles, changes: () => changes }
}

test('a file that is written to, replaced or removed has changed', async () => {
  const { at, told } = watching(['a'], (path) => writeFileSync(path('a'), '1'))
  appendFileSync(at('a'), '2')
  await told(1)
  writeFileSync(at('new'), '3')
  renameSync(at('new'), at('a'))
  await told(2)
  rmSync(at('a'))
  await told(3)
  writeFileSync(at('a'), '4')
  await told(4)
})

test('files that are written one after another are one change, and others are none', async () => {
  const { at, told, changes } = watching(['cert', 'key'], (path) => {
    writeFileSync(path('cert'), '1')
    writeFileSync(path('key'), '1')
  })
  for (let line = 0; line < 20; line++) appendFileSync(at('log'), 'x\n')
  writeFileSync(at('cert'), '22')
  writeFileSync(at('key'), '22')
  await told(1)
  writeFileSync(at('key'), '333')
  await told(2)
  expect(changes()).toBe(2)
})

test('what a link leads to counts, also through the links of a Kubernetes volume', async () => {
  const { at, told } = watching(['tokens', 'far'], (path) => {
    for (const name of ['..1', '..2', 'elsewhere']) mkdirSync(path(name))
    writeFileSync(path('..1/tokens'), '1')
    writeFileSync(path('..2/tokens'), '22')
    symlinkSync('..1', path('..data'))
    symlinkSync('..data/tokens', path('tokens'))
    writeFileSync(path('elsewhere/far'), '1')
    symlinkSync('elsewhere/far', path('far'))
  })
  symlinkSync('..2', at('..new'))
  renameSync(at('..new'), at('..data'))
  await told(1)
  // It is watched where it is now.
  writeFileSync(at('..2/tokens'), '333')
  await told(2)
  writeFileSync(at('elsewhere/far'), '22')
  await told(3)
})

test('a folder that is not there is said to be no help', () => {
  const { troubles } = watching(['missing/a'], () => {})
  expect(troubles).toEqual([expect.stringMatching(/missing$/)])
})
