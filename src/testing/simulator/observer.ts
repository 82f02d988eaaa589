import type { Violation } from '../check-history.ts'
import type { SimulatedServer } from './server.ts'
import type { World } from './world.ts'

/**
 * Somebody who watches everything on one server, goes away now and then and comes back with the last id it saw. Ids must
 * rise without a gap, or a `reset` must say that there is one.
 */
export class Observer {
  readonly #world: World
  readonly #server: SimulatedServer
  readonly violations: Violation[] = []
  heard = 0
  resumed = 0
  #lastId: string | undefined
  #stop = () => {}
  #visit = 0

  constructor(world: World, server: SimulatedServer) {
    this.#world = world
    this.#server = server
    this.#come()
  }

  #come(): void {
    const { scheduler, random, outside } = this.#world
    const visit = ++this.#visit
    const stayMs = 200 + random.integer(8_000)
    const expected = this.#lastId
    if (!this.#server.process.isDead) {
      const listening = this.#server.listen(
        { of: 'all' },
        (event, id) => visit === this.#visit && this.#hear(event.type, id),
        expected,
      )
      listening.then(
        (stop) => {
          if (visit === this.#visit) this.#stop = stop
          else stop()
        },
        () => {},
      )
    }
    scheduler.after(outside, stayMs, () => {
      this.#visit++
      this.#stop()
      this.#stop = () => {}
      scheduler.after(outside, random.integer(3_000), () => this.#come())
    })
  }

  #hear(type: string, id: string): void {
    const [epoch, number] = parsed(id)
    const [lastEpoch, lastNumber] = parsed(this.#lastId)
    if (type !== 'reset' && type !== 'state' && this.#lastId !== undefined) {
      if (epoch !== lastEpoch)
        this.#violated(`an event of another process (${id} after ${this.#lastId}) without a reset`)
      else if (number !== lastNumber + 1) this.#violated(`event ${id} after ${this.#lastId}`)
      this.heard++
    }
    if (type === 'reset') this.resumed++
    this.#lastId = id
  }

  #violated(what: string): void {
    this.violations.push({ invariant: 13, resource: '', what: `an observer of ${this.#server.name} was told ${what}` })
  }
}

function parsed(id: string | undefined): [string, number] {
  const [epoch = '', number] = (id ?? '').split('-')
  return [epoch, Number(number)]
}
