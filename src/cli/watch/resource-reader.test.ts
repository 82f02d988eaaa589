import { expect, test } from 'vitest'
import type { ResourceStatus } from '../../client/api.ts'
import { refusedError, UnavailableError } from '../../client/errors.ts'
import { errorBody, type WireEvent } from '../../protocol/index.ts'
import { ResourceReader } from './resource-reader.ts'
import { type Address, nameOf, WatchedResources } from './watched.ts'

const LIST_MS = 400

function statusOf(resource: string, fence = 1): ResourceStatus {
  const lists = { grants: [], waiters: [], queues: [], references: [], kept: [], recent: [], pauses: [] }
  return { namespace: 'default', resource, fence, waiting: 0, ...lists, nowMs: 0 }
}

/** A Baton that counts what is read of it, in time of its own. */
class World {
  nowMs = 0
  lists = 0
  readonly ones: string[] = []
  readonly away: string[] = []
  visible: string[] = []
  error: Error | undefined
  readonly resources = new WatchedResources()
  readonly reader: ResourceReader
  readonly #stop = new AbortController()
  readonly #ids: Set<string>
  readonly #unlisted = new Set<string>()
  #events: WireEvent[] = [{ type: 'state', of: 'all' }]
  #wake = () => {}
  #running: Promise<unknown> | undefined

  constructor(count: number) {
    this.#ids = new Set(Array.from({ length: count }, (_, index) => `r${index}`))
    this.reader = new ResourceReader({
      source: {
        events: (signal) => this.#feed(signal),
        list: () => this.#list(),
        one: (address) => this.#one(address),
      },
      resources: this.resources,
      isWatched: ({ resource }) => this.#ids.has(resource),
      visible: () => this.visible.map((resource) => nameOf({ namespace: 'default', resource })),
      pacing: { nowMs: () => this.nowMs, pause: (ms) => this.#pause(ms) },
      onRead: () => {},
      onAway: ({ message }) => this.away.push(message),
    })
  }

  #paused: { readonly untilMs: number; readonly go: () => void }[] = []

  #pause(ms: number): Promise<void> {
    return new Promise((go) => this.#paused.push({ untilMs: this.nowMs + ms, go }))
  }

  /** So much time, in which each of these happens once in every quarter of a second. */
  async pass(ms: number, happening: readonly string[] = []): Promise<void> {
    this.#running ??= this.reader.run(this.#stop.signal).catch((error) => error)
    const endMs = this.nowMs + ms
    await turns()
    for (; this.nowMs < endMs; this.nowMs += 250) {
      for (const resource of happening) this.happens(resource)
      const due = this.#paused.filter(({ untilMs }) => untilMs <= this.nowMs)
      this.#paused = this.#paused.filter((each) => !due.includes(each))
      for (const { go } of due) go()
      await turns()
    }
  }

  happens(resource: string): void {
    this.#push({ type: 'referenced', namespace: 'default', resource, node: 'n', atMs: 0 } as unknown as WireEvent)
  }

  reset(): void {
    this.#push({ type: 'reset' })
  }

  vanish(resource: string, { isHeard = true } = {}): void {
    this.#ids.delete(resource)
    if (isHeard) this.happens(resource)
  }

  /** The list that comes has passed it by. */
  appear(resource: string): void {
    this.#ids.add(resource)
    this.#unlisted.add(resource)
    this.happens(resource)
  }

  stop(): Promise<unknown> {
    this.#stop.abort()
    for (const { go } of this.#paused) go()
    return this.#running!
  }

  failed(): Promise<unknown> {
    return this.#running!
  }

  #push(event: WireEvent): void {
    this.#events.push(event)
    this.#wake()
  }

  async *#feed(signal: AbortSignal): AsyncGenerator<WireEvent> {
    signal.addEventListener('abort', () => this.#wake())
    while (!signal.aborted) {
      yield* this.#events.splice(0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async *#list(): AsyncGenerator<ResourceStatus> {
    if (this.error) throw this.error
    this.lists++
    this.nowMs += LIST_MS
    for (const id of this.#ids) if (!this.#unlisted.has(id)) yield statusOf(id)
    for (const resource of this.#unlisted) this.happens(resource)
    await turns(5)
  }

  async #one({ resource }: Address): Promise<ResourceStatus> {
    if (this.error) throw this.error
    this.ones.push(resource)
    return statusOf(resource, 2)
  }
}

async function turns(count = 20): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

test('everything is listed once when the stream is open, and then only what has changed is read', async () => {
  const world = new World(50)
  expect(world.reader.isRead).toBe(false)
  await world.pass(1_000)
  expect([world.lists, world.resources.size, world.reader.isRead]).toEqual([1, 50, true])
  world.happens('r7')
  world.happens('r7')
  world.vanish('r8')
  await world.pass(1_000)
  expect(world.ones).toEqual(['r7', 'r8'])
  expect([world.lists, world.resources.size]).toEqual([1, 49])
  await world.stop()
})

test('ten thousand that change all the time are listed for a tenth of it at most, and those that are seen stay fresh', async () => {
  const world = new World(10_000)
  const all = Array.from({ length: 1_000 }, (_, index) => `r${index}`)
  world.visible = ['r3', 'r5']
  await world.pass(2_000, all)
  const [lists, ones] = [world.lists, world.ones.length]
  await world.pass(20_000, all)
  expect((world.lists - lists) * LIST_MS).toBeLessThanOrEqual(2_000)
  expect(world.lists).toBeGreaterThan(lists)
  // Of those that nobody sees, none is read by itself.
  expect(new Set(world.ones.slice(ones))).toEqual(new Set(['r3', 'r5']))
  expect(world.ones.length - ones).toBeLessThanOrEqual(2 * 80)
  expect(world.ones.length - ones).toBeGreaterThan(2 * 40)
  await world.stop()
})

test('what is seen is read again after some seconds, as leases are renewed without an event', async () => {
  const world = new World(10)
  world.visible = ['r1']
  await world.pass(1_000)
  expect(world.ones).toEqual([])
  await world.pass(11_000)
  expect(world.ones).toEqual(['r1', 'r1'])
  await world.stop()
})

test('what appears while a list is under way stays, and what has gone before it goes', async () => {
  const world = new World(10)
  await world.pass(1_000)
  world.appear('new')
  world.vanish('r3', { isHeard: false })
  world.reset()
  await world.pass(250)
  expect(world.lists).toBe(1)
  await world.pass(5_000)
  expect(world.lists).toBe(2)
  const names = world.resources.inOrder().map(({ status }) => status.resource)
  expect(names).toContain('new')
  expect(names).not.toContain('r3')
  await world.stop()
})

test('after a gap in the events everything is read again', async () => {
  const world = new World(10)
  await world.pass(1_000)
  world.reset()
  await world.pass(10_000)
  expect(world.lists).toBe(2)
  await world.stop()
})

test('while nobody answers it says so and tries again, and nothing is forgotten', async () => {
  const world = new World(10)
  await world.pass(1_000)
  world.error = new UnavailableError('no answer')
  world.happens('r1')
  await world.pass(1_000)
  expect(world.away.length).toBeGreaterThan(1)
  world.error = undefined
  await world.pass(1_000)
  expect(world.ones).toEqual(['r1'])
  await world.stop()
})

test('what is refused is the end', async () => {
  const world = new World(10)
  await world.pass(1_000)
  world.error = refusedError(errorBody('forbidden'))
  world.happens('r1')
  await world.pass(1_000)
  expect(await world.failed()).toMatchObject({ code: 'forbidden' })
})
