import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { StepRecord } from './history.ts'
import { Journal, mergeJournals, readJournal, type TimedRecord } from './journal.ts'

const note = (client: string, monoMs: number): TimedRecord => ({
  kind: 'client',
  nowMs: monoMs,
  client,
  what: 'reconnected',
  monoMs,
})
const step = (resource: string, order: number, monoMs: number): TimedRecord & StepRecord => ({
  kind: 'step',
  namespace: 'default',
  resource,
  nowMs: 0,
  command: { type: 'expire' },
  reply: { status: 'done' },
  events: [],
  order,
  monoMs,
})

test('a journal survives its writer, but for a line that it did not get to finish', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-journal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.jsonl')
  const { monoMs, ...record } = note('a', 5)
  new Journal(path).write(record, monoMs)
  appendFileSync(path, '{"kind":"cli')
  expect(readJournal(path)).toEqual([note('a', 5)])
})

test('several journals are one history by the time of the machine', () => {
  const merged = mergeJournals([
    [note('a', 1), note('a', 4)],
    [note('b', 3), note('b', 2)],
  ])
  expect(merged.map(({ nowMs }) => nowMs)).toEqual([1, 2, 3, 4])
})

test('steps of one resource keep the order of their store, and nothing that followed from them comes before them', () => {
  // The first step was written down late: its server was held up. A client heard of the second one meanwhile.
  const [first, second, heard] = [step('r', 1, 10), step('r', 2, 5), note('c', 6)]
  const other = step('s', 1, 7)
  expect(mergeJournals([[first, other], [second], [heard]])).toEqual([first, second, heard, other])
})
