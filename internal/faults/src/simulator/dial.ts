import { UnavailableError } from '@baton-lock/client'
import type { Dial, Wire, WireHandlers } from '@baton-lock/client/connection/web-socket'
import type { PeerStream } from '@baton-lock/server/web-socket/peer-stream'
import type { Network } from './network.ts'
import type { Process } from './scheduler.ts'
import type { SimulatedServer } from './server.ts'
import { Way } from './way.ts'

interface DialOptions {
  readonly process: Process
  readonly servers: readonly SimulatedServer[]
  /** How often a proxy in between is in the way: it refuses the upgrade, or accepts it and drops all frames. */
  readonly proxyRate: number
}

const HEARTBEAT_MS = 15_000
const BEATS_MAX = 3
/** Of the proxies in the way, how many drop all frames. */
const DROPPING_RATE = 0.5
/** How often an end of a broken connection is told; otherwise it has to find out. */
const TOLD_RATE = 0.75

/** Opens connections over the simulated network, to the servers by their names. */
export function simulatedDial(network: Network, { process, servers, proxyRate }: DialOptions): Dial {
  return (base, handlers) => {
    const server = servers.find(({ name }) => name === base.hostname)!
    if (!network.healed && network.random.chance(proxyRate)) {
      const isDropping = network.random.chance(DROPPING_RATE)
      if (isDropping) network.dropped++
      else network.forbidden++
      return noStream(network, process, handlers, isDropping ? undefined : 'it answered 403')
    }
    if (server.process.isDead) return noStream(network, process, handlers, 'connection refused')
    return new SimulatedStream(network, { process, server, handlers }).wire
  }
}

/** A connection on which nothing arrives; unless there is a reason why not, the client has to find out. */
function noStream(network: Network, process: Process, handlers: WireHandlers, why: string | undefined): Wire {
  let isClosed = false
  if (why !== undefined) {
    const error = new UnavailableError(why)
    network.later(process, network.delayMs(), () => isClosed || handlers.onEnd({ error }))
  }
  return {
    send: () => {},
    unsent: 0,
    close: () => {
      isClosed = true
    },
  }
}

interface StreamEnds {
  readonly process: Process
  readonly server: SimulatedServer
  readonly handlers: WireHandlers
}

/** A connection of two processes, with the real SDK at one end of it and the real server at the other. */
class SimulatedStream {
  readonly #network: Network
  readonly #server: SimulatedServer
  /** The server's: when it is started again, it is another one. */
  readonly #process: Process
  readonly #handlers: WireHandlers
  readonly #there: Way
  readonly #back: Way
  readonly #deaths: (() => void)[]
  /** At the server's end; nothing before the client is let in. */
  #stream: PeerStream | undefined
  #stopBeating = () => {}
  #silentBeats = 0
  #isPaused = false
  #isOverHere = false
  #isOverThere = false

  constructor(network: Network, { process, server, handlers }: StreamEnds) {
    this.#network = network
    this.#server = server
    this.#process = server.process
    this.#handlers = handlers
    this.#there = new Way(network, process, server.process)
    this.#back = new Way(network, server.process, process)
    this.#deaths = [
      process.onDeath(() => this.#there.breakOff(this.#told(() => this.#endThere()))),
      server.process.onDeath(() => this.#back.breakOff(this.#told(() => this.#endHere('the server went away')))),
    ]
    network.streams.add(this)
    this.#there.send(() => this.#accept())
  }

  /** The client's end of it. */
  get wire(): Wire {
    return {
      unsent: 0,
      send: (text, onSent) => {
        this.#send(this.#there, () => this.#receive(text), text.length)
        queueMicrotask(onSent)
      },
      close: () => {
        if (this.#isOverHere) return
        this.#isOverHere = true
        this.#there.send(() => this.#endThere())
        this.#leave()
      },
    }
  }

  /** Both ways lose an end of what is under way, each its own. */
  cut(): void {
    this.#network.breaks++
    this.#there.breakOff(this.#told(() => this.#endThere()))
    this.#back.breakOff(this.#told(() => this.#endHere('connection reset')))
  }

  get server(): SimulatedServer {
    return this.#server
  }

  /** As a server does that is about to stop. */
  drain(): void {
    if (!this.#stream || this.#isOverThere || this.#process.isDead) return
    this.#network.drains++
    this.#stream.drain()
  }

  leave(): void {
    if (!this.#isOverThere && !this.#process.isDead && this.#stream) this.#endByServer()
  }

  #told(tell: () => void): (() => void) | undefined {
    return this.#network.random.chance(TOLD_RATE) ? tell : undefined
  }

  #send(way: Way, deliver: () => void, size: number): void {
    way.send(deliver, size)
    if (this.#network.breaksNow()) this.cut()
  }

  #accept(): void {
    const back = this.#back
    this.#stream = this.#server.accept({
      send: (text) => this.#send(back, () => this.#hear(text), text.length),
      get unsent() {
        return back.size
      },
      wait: () => {},
      pause: () => {
        this.#isPaused = true
        this.#there.pause()
      },
      resume: () => {
        this.#isPaused = false
        this.#there.resume()
      },
      end: (how, why) => {
        if (how === 'broken') throw new Error(`a client has broken a rule of the stream: ${why}`)
        this.#endByServer()
      },
    })
    this.#beat()
  }

  #receive(text: string): void {
    this.#silentBeats = 0
    if (!this.#isOverThere) this.#stream!.receive(text)
  }

  #hear(text: string): void {
    if (!this.#isOverHere) this.#handlers.onText(text)
    if (this.#isPaused) this.#network.later(this.#process, 0, () => this.#stream?.drained())
  }

  /** As `packages/server/src/web-socket/peer.ts` does. */
  #beat(): void {
    this.#stopBeating = this.#network.later(this.#process, HEARTBEAT_MS, () => {
      if (++this.#silentBeats > BEATS_MAX) return this.#endByServer()
      this.#back.send(() => {
        if (this.#isOverHere) return
        this.#handlers.onBeat()
        this.#there.send(() => {
          this.#silentBeats = 0
        })
      })
      this.#beat()
    })
  }

  #endByServer(): void {
    this.#endThere()
    this.#back.breakOff(() => this.#endHere('the server closed it'))
  }

  #endHere(why: string): void {
    if (this.#isOverHere) return
    this.#isOverHere = true
    this.#leave()
    this.#handlers.onEnd({ error: new UnavailableError(why) })
  }

  #endThere(): void {
    this.#isOverThere = true
    this.#stopBeating()
    this.#stream?.close()
    this.#leave()
  }

  #leave(): void {
    if (!this.#isOverHere || !this.#isOverThere) return
    this.#network.streams.delete(this)
    for (const forget of this.#deaths) forget()
  }
}
