import { connect } from '@baton-lock/client'
import type { Policy } from '@baton-lock/core'
import { Journal } from '../history/journal.ts'
import type { Note } from '../history/telling.ts'

/*
 * One observer of the harness: a process that listens to everything, at one server or on the store itself, and writes down
 * what it is told. When stdin has ended it goes with the next event of the resource `farewell`, and exits 0; anything else is
 * a defect.
 */
export interface ObserverConfig {
  readonly name: string
  readonly url: string
  /** No servers: it opens the store itself. */
  readonly library?: { readonly store: string; readonly policy: Policy }
  /** Where it writes down what it is told. */
  readonly notes: string
  /** What its store does, where it opens it itself. */
  readonly journal: string
  readonly farewell: string
}

const config: ObserverConfig = JSON.parse(process.argv[2]!)

async function openBaton(onNotice: (notice: string) => void) {
  const options = { node: config.name, onNotice }
  if (!config.library) return connect(config.url, options)
  // Twice as much to load as all the rest: not for those that are killed and started all the time, and have a server.
  const { libraryClient, openLibraryStore } = await import('./library.ts')
  const store = await openLibraryStore({ ...config.library, journal: config.journal })
  return libraryClient(store!, options)
}

async function main(): Promise<void> {
  let isLeaving = false
  process.stdin.resume().on('end', () => {
    isLeaving = true
  })
  const notes = new Journal<Note>(config.notes)
  const baton = await openBaton((notice) => {
    if (notice.startsWith('the event stream ended')) notes.write({ cut: notice })
  })
  for await (const event of baton.events()) {
    if (!('resource' in event) || event.resource !== config.farewell) notes.write({ event })
    else if (isLeaving) break
  }
  await baton.close()
  process.exit(0)
}

await main()
