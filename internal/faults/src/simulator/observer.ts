import type { Note, Timed } from '../history/telling.ts'
import type { SimulatedServer } from './server.ts'
import type { World } from './world.ts'

/** Watches everything on one server. It leaves now and then, and comes back with the last id that it saw. */
export class Observer {
  readonly #world: World
  readonly #server: SimulatedServer
  readonly notes: Timed<Note>[] = []
  #lastId: string | undefined
  #stop: (() => void) | undefined
  #visit = 0

  constructor(world: World, server: SimulatedServer) {
    this.#world = world
    this.#server = server
    this.#come()
  }

  get name(): string {
    return `an observer of ${this.#server.name}`
  }

  #come(): void {
    const { scheduler, random, outside } = this.#world
    const visit = ++this.#visit
    const isHere = () => visit === this.#visit
    if (!this.#server.process.isDead) {
      const listening = this.#server.listen(
        { of: 'all' },
        (event, id) => {
          if (!isHere()) return
          this.#note({ event, id })
          this.#lastId = id
        },
        this.#lastId,
      )
      listening.then(
        (stop) => {
          if (isHere()) this.#stop = stop
          else stop()
        },
        () => {},
      )
    }
    scheduler.after(outside, 200 + random.integer(8_000), () => this.#leave())
  }

  #leave(): void {
    const { scheduler, random, outside } = this.#world
    this.#visit++
    this.#stop?.()
    this.#stop = undefined
    this.#note({ cut: 'it left' })
    scheduler.after(outside, random.integer(3_000), () => this.#come())
  }

  #note(note: Note): void {
    this.notes.push({ ...note, monoMs: this.#world.scheduler.nowMs() })
  }
}
