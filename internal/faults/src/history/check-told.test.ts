import type { Command } from '@baton-lock/core'
import type { WireEvent } from '@baton-lock/protocol'
import { Service } from '@baton-lock/service'
import { openMemoryStore } from '@baton-lock/store/memory'
import { expect, test } from 'vitest'
import { checkTold } from './check-told.ts'
import type { StepRecord } from './history.ts'
import { type Note, type Timed, tellingOf } from './telling.ts'

const STATE: WireEvent = { type: 'state', of: 'all' }
const RESET: WireEvent = { type: 'reset' }
const ROUNDS = 4

/** What a server tells one who listens to everything, and what its store has done: two resources, in turn. */
async function story() {
  let nowMs = 1_000_000
  const steps: Timed<StepRecord>[] = []
  const events: WireEvent[] = []
  const store = openMemoryStore({
    clock: { nowMs: () => nowMs },
    onStep: (step) => steps.push({ kind: 'step', ...step, monoMs: nowMs }),
  })
  const service = new Service({ store })
  await service.listen({ of: 'all' }, (event) => events.push(event))
  const take = async (resource: string, command: Command) => {
    nowMs += 1_000
    await store.step({ namespace: 'default', resource }, command)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const resource of ['r', 's']) {
      const who = (node: string) => ({ operation: 'lock', node, owner: node, hold: `h${round}` })
      const acquire = (node: string) => take(resource, { type: 'acquire', ...who(node), ttlMs: 600_000 })
      const release = (node: string) => take(resource, { type: 'release', ...who(node), outcome: 'success' })
      await acquire('a')
      await acquire('b')
      await release('a')
      await acquire('b')
      await release('b')
    }
  }
  await service.close()
  return { steps, events: events as readonly WireEvent[] }
}

type Heard = readonly (WireEvent | 'cut')[]

function notesOf(heard: Heard, steps: readonly Timed<StepRecord>[]): Timed<Note>[] {
  let monoMs = steps[0]!.monoMs
  return heard.map((each) => {
    if (each !== 'cut' && 'atMs' in each) monoMs = each.atMs
    return each === 'cut' ? { cut: 'it ended', monoMs } : { event: each, monoMs }
  })
}

/** How a second observer heard it, beside one that heard it as it was. */
type Hearing = (events: readonly WireEvent[]) => Heard

async function check(hear: Hearing, { isHistoryKnown = true } = {}) {
  const { steps, events } = await story()
  const tellings = [events, hear(events)].map((heard, index) => tellingOf(`observer-${index}`, notesOf(heard, steps)))
  return checkTold({ tellings, ...(isHistoryKnown && { steps }) })
}

/** Where the grant of the third fence of `r` stands. */
function middle(events: readonly WireEvent[]): number {
  return events.findIndex((event) => event.type === 'granted' && event.resource === 'r' && event.fence === 3)
}

const asItWas: Hearing = (events) => events
const twice: Hearing = (events) => events.toSpliced(middle(events), 0, events[middle(events)]!)
const missing: Hearing = (events) => events.toSpliced(middle(events), 1)
const swapped: Hearing = (events) => {
  const at = middle(events)
  return events.toSpliced(at, 2, events[at + 1]!, events[at]!)
}
const invented: Hearing = (events) => {
  const event = { ...events[middle(events)]!, node: 'nobody' } as WireEvent
  return events.toSpliced(middle(events), 1, event)
}
/** One that has no fence. */
const queuedTwice: Hearing = (events) => {
  const at = events.findIndex((event, index) => event.type === 'queued' && index > middle(events))
  return events.toSpliced(at, 0, events[at]!)
}

test('two who heard everything alike, and as it was', async () => {
  const { violations, counts } = await check(asItWas)
  expect(violations).toEqual([])
  const { events } = await story()
  const count = events.length - 1
  expect(counts).toEqual({
    heard: 2 * count,
    'compared with one another': count,
    'compared with the history': 2 * count,
    gaps: 0,
    'streams resumed': 0,
    'undone by a crash of the database': 0,
  })
})

test.each([
  ['told twice', twice],
  ['missing', missing],
  ['swapped with the next', swapped],
  ['one that never happened', invented],
  ['told twice, without a fence', queuedTwice],
] as const)('an event %s is a violation: beside another observer, and beside the history', async (_, hear) => {
  for (const isHistoryKnown of [false, true]) {
    const { violations } = await check(hear, { isHistoryKnown })
    expect(violations.length).toBeGreaterThan(0)
    for (const violation of violations) expect(violation).toMatchObject({ invariant: 18 })
  }
  // With nobody to compare with but the history.
  const { steps, events } = await story()
  const telling = tellingOf('observer-0', notesOf(hear(events), steps))
  expect(checkTold({ tellings: [telling], steps }).violations.length).toBeGreaterThan(0)
})

test('a grant that is told after its end, or twice, is a violation even where nothing is there to compare with', async () => {
  const { steps, events } = await story()
  const alone = (hear: Hearing) =>
    checkTold({ tellings: [tellingOf('observer-0', notesOf(hear(events), steps))] }).violations
  const at = middle(events)
  const end = events.findIndex((event) => event.type === 'ended' && event.resource === 'r' && event.fence === 3)
  const late: Hearing = () => events.toSpliced(end + 1, 0, events[at]!).toSpliced(at, 1)
  expect(alone(asItWas)).toEqual([])
  expect(alone(late)).toMatchObject([{ resource: 'r', what: expect.stringContaining('after its end') }])
  expect(alone(twice)).toMatchObject([{ what: expect.stringContaining('fence 3 was granted after 3') }])
  expect(alone((all) => all.toSpliced(end, 0, all[end]!))).toMatchObject([{ what: expect.stringContaining('second') }])
})

test('where a gap is told, some may be missing', async () => {
  const { violations, counts } = await check((events) => events.toSpliced(middle(events) - 3, 7, RESET, STATE))
  expect(violations).toEqual([])
  const { events } = await story()
  expect(counts).toMatchObject({ gaps: 1, 'compared with one another': events.length - 8 })
})

test('a gap begins when the stream is cut, however long the client takes to come back', async () => {
  const { steps, events } = await story()
  const heard = notesOf([...events.slice(0, middle(events)), 'cut'], steps)
  const backMs = heard.at(-1)!.monoMs + 60_000
  const notes = [...heard, { event: RESET, monoMs: backMs }, { event: STATE, monoMs: backMs }]
  expect(checkTold({ tellings: [tellingOf('observer-0', notes)], steps }).violations).toEqual([])
})

test('a gap excuses nothing elsewhere, and nobody is told something again after it', async () => {
  const gap = [RESET, STATE]
  const elsewhere = await check((events) => missing(events.toSpliced(middle(events) + 8, 2, ...gap)))
  expect(elsewhere.violations.length).toBeGreaterThan(0)
  const again = (from: number): Hearing => {
    return (events) =>
      events.toSpliced(middle(events), 0, ...gap, ...events.slice(middle(events) - from, middle(events)))
  }
  expect((await check(again(0))).violations).toEqual([])
  for (const from of [1, 2, 3]) expect((await check(again(from))).violations.length).toBeGreaterThan(0)
})

test('what a database showed just before it crashed, and has forgotten, is undone; nothing else is', async () => {
  const { steps, events } = await story()
  const event = events[middle(events)] as Extract<WireEvent, { atMs: number }>
  const before = { ...event, node: 'nobody' } as WireEvent
  const tellings = [tellingOf('observer-0', notesOf(events.toSpliced(middle(events), 0, before), steps))]
  const crashed = (atMs: number) => checkTold({ tellings, steps, crashedAtMs: [atMs] })
  expect(crashed(event.atMs + 500)).toMatchObject({
    violations: [],
    counts: { 'undone by a crash of the database': 1 },
  })
  for (const atMs of [event.atMs - 500, event.atMs + 10_000]) expect(crashed(atMs).violations.length).toBeGreaterThan(0)
  const again = [tellingOf('observer-0', notesOf(twice(events), steps))]
  const { violations } = checkTold({ tellings: again, steps, crashedAtMs: [event.atMs + 500] })
  expect(violations.length).toBeGreaterThan(0)
})

test('a stream that is resumed tells the exact rest', async () => {
  const cutAt = (events: readonly WireEvent[], at: number, missed: number): Heard => {
    return [...events.slice(0, at), 'cut', ...events.slice(at + missed)]
  }
  const resumed: Hearing = (events) => cutAt(events, middle(events), 0)
  const { violations, counts } = await check(resumed)
  expect(violations).toEqual([])
  expect(counts).toMatchObject({ gaps: 0, 'streams resumed': 1 })
  const short: Hearing = (events) => cutAt(events, middle(events), 1)
  expect((await check(short)).violations.length).toBeGreaterThan(0)
})

test('what is not told at the end, or of a resource at all, is missed', async () => {
  const withoutEnd = await check((events) => events.slice(0, -1))
  expect(withoutEnd.violations).toMatchObject([{ what: expect.stringContaining('observer-1 was never told of ended') }])
  const isOfS = (event: WireEvent) => 'resource' in event && event.resource === 's'
  const silent = await check((events) => events.filter((event) => !isOfS(event)))
  expect(silent.violations).toMatchObject([{ resource: 's', what: expect.stringContaining('never told') }])
})

test('what was told more than there was is seen at the end too', async () => {
  const { violations } = await check((events) => [...events, events.at(-1)!])
  expect(violations.map(({ what }) => what)).toContainEqual(expect.stringContaining('nothing more'))
})

test('ids rise by one, also when a stream is resumed, unless a gap is told', async () => {
  const { steps, events } = await story()
  const withIds = (idOf: (index: number) => string, heard: Heard = events) =>
    checkTold({
      tellings: [
        tellingOf(
          'observer-0',
          notesOf(heard, steps).map((note, index) => ('cut' in note ? note : { ...note, id: idOf(index) })),
        ),
      ],
    }).violations
  const at = middle(events)
  expect(withIds((index) => `e-${index}`)).toEqual([])
  const cut = [...events.slice(0, at), 'cut', ...events.slice(at)] as const
  expect(withIds((index) => `e-${index > at ? index - 1 : index}`, cut)).toEqual([])
  const skipped = { invariant: 13, what: expect.stringContaining(`the event e-${at + 1} after e-${at - 1}`) }
  expect(withIds((index) => `e-${index < at ? index : index + 1}`)).toMatchObject([skipped])
  const another = { invariant: 13, what: expect.stringContaining(`the event f-${at} after e-${at - 1}`) }
  expect(withIds((index) => `${index < at ? 'e' : 'f'}-${index}`)).toMatchObject([another])
  const gap = events.toSpliced(at, 0, RESET, STATE)
  expect(withIds((index) => `${index < at ? 'e' : 'f'}-${index}`, gap)).toEqual([])
})

test('what happened after a stream was cut is owed only if it was resumed', async () => {
  const { steps, events } = await story()
  const at = middle(events)
  const check = (heard: Heard, stateMs?: number) => {
    const notes = notesOf(heard, steps).map((note, index) =>
      stateMs !== undefined && index > 0 && 'event' in note && !('atMs' in note.event)
        ? { ...note, monoMs: stateMs }
        : note,
    )
    return checkTold({ tellings: [tellingOf('observer-0', notes)], steps }).violations
  }
  expect(check([...events.slice(0, at), 'cut'])).toEqual([])
  expect(check([...events.slice(0, at), 'cut', ...events.slice(at + 1)]).length).toBeGreaterThan(0)
  // Away for longer than a gap excuses what was not told before it.
  const left = events.findIndex((event) => 'atMs' in event && event.atMs > steps[0]!.monoMs + 2_000)
  const back = events.findIndex((event) => 'atMs' in event && event.atMs > steps[0]!.monoMs + 30_000)
  const [before, after, stateMs] = [events.slice(0, left), events.slice(back), steps[0]!.monoMs + 30_000]
  expect(check([...before, 'cut', RESET, STATE, ...after], stateMs)).toEqual([])
  expect(check([...before, RESET, STATE, ...after], stateMs).length).toBeGreaterThan(0)
})
