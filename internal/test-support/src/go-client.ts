import { type ClassicServer, type OpenStream, roundTrips, type World } from './server-world.ts'

interface GoClientOptions {
  readonly node: string
  readonly type?: string
  readonly resource?: string
  /** Whether it says in its subscription who it is. */
  readonly named?: boolean
}

type Locked = 'acquired' | 'done' | { readonly refused: string }

/** Once it has seen a hand-over, it does not trust the next success: it closes its stream and posts /lock again so much later. */
const POST_AGAIN_MS = 8

/** The known client of the classic paths, as classic-wire.md describes it, with all of its habits. */
export class GoClient {
  readonly node: string
  readonly #world: ClassicServer
  readonly #type: string
  readonly #resource: string
  readonly #named: boolean
  posts = 0
  subscriptions = 0
  #stream: OpenStream | undefined
  #sawHandOver = false

  constructor(world: ClassicServer, { node, type = 'pull', resource = 'x', named = true }: GoClientOptions) {
    this.#world = world
    this.node = node
    this.#type = type
    this.#resource = resource
    this.#named = named
  }

  async lock(): Promise<Locked> {
    for (let skips = 0; ; ) {
      this.posts++
      const { status, body } = await this.#world.post('/lock', this.#body())
      if (status !== 200 && status !== 403) throw new Error(`POST /lock: ${status}`)
      if (body.error) return { refused: body.error }
      if (body.acquired) return 'acquired'
      // The first one is ignored.
      if (body.skip && ++skips > 1) return 'done'
      if (await this.#wait()) return 'done'
    }
  }

  /** It has been told to wait, and its connection to that server is gone: it subscribes here, and goes on as ever. */
  async waitAndLock(): Promise<Locked> {
    return (await this.#wait()) ? 'done' : this.lock()
  }

  async unlock(error?: string): Promise<{ status: number; released: boolean }> {
    const { status, body } = await this.#world.post('/unlock', { ...this.#body(), ...(error && { error }) })
    return { status, released: body.released }
  }

  /** Its process dies. */
  die(): void {
    this.#stream?.close()
  }

  /** Until success (true), or until it has reason to ask again (false). */
  async #wait(): Promise<boolean> {
    for (;;) {
      const sinceMs = this.#world.clock.nowMs()
      const event = await this.#firstLine()
      if (!event.success) this.#sawHandOver = true
      if (this.#world.clock.nowMs() - sinceMs >= 1_000) return false
      if (event.success && !this.#sawHandOver) return true
      if (event.success) {
        await new Promise<void>((resolve) => this.#world.clock.after(POST_AGAIN_MS, resolve))
        return false
      }
      if (event.node_id === this.node) return false
    }
  }

  /** Subscribes, takes the first line and closes. */
  async #firstLine(): Promise<{ success: boolean; node_id: string }> {
    this.subscriptions++
    const name = this.#named ? `&node_id=${this.node}` : ''
    const stream = await this.#world.stream(`/lock/subscribe?type=${this.#type}&resource_id=${this.#resource}${name}`)
    this.#stream = stream
    const died = stream.ended.then((how) => {
      if (how === 'end') throw new Error('the stream ended while waiting')
      return new Promise<never>(() => {})
    })
    await Promise.race([stream.until(() => stream.events().length > 0), died])
    stream.close()
    return stream.events()[0]
  }

  #body() {
    return { type: this.#type, resource_id: this.#resource, node_id: this.node }
  }
}

/** What each of ten nodes comes to, which want the same at once. The first two that do the work fail. */
export async function tenNodes(
  servers: readonly ClassicServer[],
  { workMs, begun = async () => {}, ...options }: Omit<GoClientOptions, 'node'> & TenNodesOptions,
): Promise<string[]> {
  let runs = 0
  const work = async (client: GoClient, { clock }: ClassicServer) => {
    const locked = await client.lock()
    if (locked !== 'acquired') return typeof locked === 'string' ? locked : locked.refused
    const fails = ++runs <= 2
    await new Promise<void>((resolve) => clock.after(workMs, resolve))
    await client.unlock(fails ? 'no luck' : undefined)
    return fails ? 'failed' : 'worked'
  }
  const ends: Promise<string>[] = []
  for (let index = 0; index < 10; index++) {
    const server = servers[index % servers.length]!
    ends.push(work(new GoClient(server, { ...options, node: `n${index}` }), server))
    await begun(index)
  }
  return Promise.all(ends)
}

interface TenNodesOptions {
  readonly workMs: number
  /** Called after each of them has begun; the next one begins when it resolves. */
  begun?(index: number): Promise<void>
}

/** Lets time pass in small steps until this is settled. */
export async function inTime<Result>(world: World, result: Promise<Result>, limitMs = 60_000): Promise<Result> {
  let over = false
  const done = result.finally(() => {
    over = true
  })
  done.catch(() => {})
  for (let passedMs = 0; !over; passedMs += 100) {
    if (passedMs > limitMs) throw new Error(`not settled within ${limitMs} ms`)
    await roundTrips(world)
    if (!over) await world.clock.advance(100)
  }
  return done
}
