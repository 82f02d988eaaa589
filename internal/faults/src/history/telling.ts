import type { Event } from '@baton-lock/core'
import type { WireEvent } from '@baton-lock/protocol'
import { heard } from '@baton-lock/service/listening/fan-out'
import type { StepRecord } from './history.ts'

/**
 * What an observer of everything writes down: what it was told, with the id where it sees one, and that its stream has ended. It
 * comes back, unless this is the last note.
 */
export type Note = { readonly event: WireEvent; readonly id?: string } | { readonly cut: string }

/** With the moment of its writing, by the machine's clock. */
export type Timed<Entry> = Entry & { readonly monoMs: number }

/** One event, and the text that is the same for everybody who is told of it. */
export interface Told {
  readonly event: Event
  readonly text: string
  readonly monoMs: number
}

/** What was told without a gap, by resource; in the order in which it was told. */
interface Stretch {
  readonly startMs: number
  /** When it last listened before the gap that follows; `Infinity` if none follows. */
  endMs: number
  readonly of: Map<string, Told[]>
}

/** An event whose id does not follow that of the one before. */
interface Jump {
  readonly event: Event
  readonly id: string
  readonly after: string
}

/** All that somebody was told. */
export interface Telling {
  readonly name: string
  readonly stretches: readonly Stretch[]
  readonly events: number
  /** How often it was told that it may have missed some. */
  readonly gaps: number
  /** How often it came back and was told the rest. */
  readonly resumed: number
  /** How many it was told of that a crash of the database has undone. */
  readonly undone: number
  readonly jumps: readonly Jump[]
}

/** What an observer has heard. Every `state` begins a stretch: the first of all, or the one after a `reset`. */
export function tellingOf(name: string, notes: readonly Timed<Note>[]): Telling {
  const stretches: Stretch[] = []
  const jumps: Jump[] = []
  let events = 0
  let resumed = 0
  let lastId: string | undefined
  let cutMs: number | undefined
  for (const note of notes) {
    if ('cut' in note) {
      cutMs ??= note.monoMs
      continue
    }
    const { event, id, monoMs } = note
    if (event.type === 'reset') continue
    const last = stretches.at(-1)
    if (event.type === 'state') {
      if (last) last.endMs = cutMs ?? monoMs
      stretches.push({ startMs: monoMs, endMs: Infinity, of: new Map() })
    } else {
      if (!last) throw new Error(`${name} was told of ${event.type} before the state`)
      if (id !== undefined && lastId !== undefined && !follows(lastId, id)) jumps.push({ event, id, after: lastId })
      add(last, { event, text: textOf(event), monoMs })
      events++
      if (cutMs !== undefined) resumed++
    }
    lastId = id
    cutMs = undefined
  }
  const last = stretches.at(-1)
  if (last && cutMs !== undefined) last.endMs = cutMs
  return { name, stretches, events, gaps: Math.max(0, stretches.length - 1), resumed, undone: 0, jumps }
}

/** The next id of the same process of a server. */
function follows(last: string, id: string): boolean {
  const [[epoch, number], [lastEpoch, lastNumber]] = [id.split('-'), last.split('-')]
  return epoch === lastEpoch && Number(number) === Number(lastNumber) + 1
}

/** What there was to be told: the events of the steps that a store has taken, which are in the order of each resource. */
export function tellingOfHistory(steps: readonly Timed<StepRecord>[]): Telling {
  const whole: Stretch = { startMs: -Infinity, endMs: Infinity, of: new Map() }
  let events = 0
  for (const { monoMs, events: taken } of steps) {
    for (const event of taken.flatMap((each) => heard({ of: 'all' }, each))) {
      add(whole, { event, text: textOf(event), monoMs })
      events++
    }
  }
  return { name: 'the history', stretches: [whole], events, gaps: 0, resumed: 0, undone: 0, jumps: [] }
}

/** Before it was killed, a database may have shown to others for as long what it had not yet written to its disk. */
const UNWRITTEN_MS = 3_000

/**
 * What is left of what somebody was told, without what a crash of the database has undone: InnoDB lets others see a commit
 * before it is on the disk, and before the one who made it is told so, unless it keeps a binary log.
 */
export function withoutUndone(telling: Telling, history: Telling, crashedAtMs: readonly number[]): Telling {
  const happened = new Set(history.stretches.flatMap(({ of }) => [...of.values()].flat()).map(({ text }) => text))
  const isUndone = ({ event: { atMs }, text }: Told) =>
    crashedAtMs.some((crashMs) => atMs <= crashMs && atMs > crashMs - UNWRITTEN_MS) && !happened.has(text)
  let undone = 0
  const stretches = telling.stretches.map((stretch) => {
    const of = new Map<string, Told[]>()
    for (const [resource, all] of stretch.of) {
      const left = all.filter((told) => !isUndone(told))
      undone += all.length - left.length
      of.set(resource, left)
    }
    return { ...stretch, of }
  })
  return { ...telling, stretches, undone }
}

/** For people. */
export function describeTold({ event: { namespace: _, resource: __, atMs: ___, type, ...details } }: Told): string {
  return `${type} ${JSON.stringify(details).replaceAll('"', '')}`
}

function add({ of }: Stretch, told: Told): void {
  const { namespace, resource } = told.event
  const name = JSON.stringify([namespace, resource])
  const all = of.get(name)
  if (all) all.push(told)
  else of.set(name, [told])
}

/** In one order of its keys, whoever has written it. */
function textOf(event: WireEvent): string {
  return JSON.stringify(event, (_, value) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
