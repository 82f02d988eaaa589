import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { History, HistoryRecord, StepRecord } from './history.ts'

/** A record with the moment of its writing, by the clock that all processes of a machine share. */
export type TimedRecord = HistoryRecord & { readonly monoMs: number }

/** Milliseconds of the machine's monotonic clock: the same in every process of it. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** What one process writes down, a line of JSON each: a history. What was written survives a kill -9 of the writer. */
export class Journal<Entry extends object = HistoryRecord> {
  readonly #file: number

  constructor(path: string) {
    // It tells of everything that is done, owners and results included.
    this.#file = openSync(path, 'a', 0o600)
  }

  write(record: Entry, monoMs = machineMs()): void {
    writeSync(this.#file, `${JSON.stringify({ ...record, monoMs })}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** What a process has written; a last line that it did not get to finish is none. */
export function readJournal<Entry extends object = HistoryRecord>(
  path: string,
): (Entry & { readonly monoMs: number })[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line))
}

/** One history of what several processes have written: by time, and each resource's steps in the order of its store. */
export function mergeJournals(journals: readonly (readonly TimedRecord[])[]): History {
  const timed = journals.flat().map((record) => ({ record, atMs: record.monoMs }))
  const ordered = timed.filter(({ record }) => record.kind === 'step' && record.order !== undefined)
  ordered.sort((a, b) => (a.record as StepRecord).order! - (b.record as StepRecord).order!)
  // A step was taken, at the latest, when one that came after it was written down.
  const latestMs = new Map<string, number>()
  for (const entry of ordered.reverse()) {
    const { namespace, resource } = entry.record as StepRecord
    const name = JSON.stringify([namespace, resource])
    entry.atMs = Math.min(entry.atMs, latestMs.get(name) ?? Infinity)
    latestMs.set(name, entry.atMs)
  }
  const place = new Map(ordered.reverse().map(({ record }, index) => [record, index]))
  timed.sort((a, b) => a.atMs - b.atMs || (place.get(a.record) ?? -1) - (place.get(b.record) ?? -1))
  return timed.map(({ record }) => record)
}
