import { UnavailableError } from '@baton-lock/client'
import type { InputOf, StreamHandlers } from '@baton-lock/client/connection/transport'
import type { Acquire, Facts } from '@baton-lock/core'
import type { ReplyOf, RequestType } from '@baton-lock/protocol'
import type { Scope } from '@baton-lock/service'
import type { Random } from '@baton-lock/store/conformance/random'
import type { Swarm } from './plan.ts'
import { Process, type Scheduler } from './scheduler.ts'
import type { SimulatedServer } from './server.ts'

interface CutStream {
  cut(): void
  /** The server at its other end; absent where it is none that can be told to move. */
  readonly server?: SimulatedServer
  /** Its server says that it is about to stop. */
  drain?(): void
  /** And ends it, where it is still there. */
  leave?(): void
}

/** Messages are late, lost, doubled and out of order; links are cut one way or both. */
export class Network {
  readonly #scheduler: Scheduler
  readonly random: Random
  readonly #swarm: Swarm
  readonly #cuts = new Map<string, number>()
  readonly #itself: Process
  /** What can be cut: streams of events, and connections, which can also be told to move. */
  readonly streams = new Set<CutStream>()
  /** How often a connection was told to move. */
  drains = 0
  /** How often a connection was broken. */
  breaks = 0
  /** How often a proxy refused a connection, and how often one dropped all of its frames. */
  forbidden = 0
  dropped = 0
  healed = false

  constructor({ scheduler, random, swarm }: { scheduler: Scheduler; random: Random; swarm: Swarm }) {
    this.#scheduler = scheduler
    this.random = random
    this.#swarm = swarm
    this.#itself = new Process('network', scheduler)
  }

  get nowMs(): number {
    return this.#scheduler.nowMs()
  }

  cut(from: string, to: string): () => void {
    const link = `${from}>${to}`
    this.#cuts.set(link, (this.#cuts.get(link) ?? 0) + 1)
    return () => this.#cuts.set(link, this.#cuts.get(link)! - 1)
  }

  isCut(from: Process, to: Process): boolean {
    return (this.#cuts.get(`${from.name}>${to.name}`) ?? 0) > 0
  }

  delayMs(): number {
    return this.random.next() * this.random.next() * this.#swarm.latencyMs * 4
  }

  /** How late the second copy of a message may be, and what is left of a connection that has broken. */
  get lateMs(): number {
    return this.#swarm.duplicateMs
  }

  /** A message of its own: it may be lost or arrive twice, and overtakes others. */
  send(from: Process, to: Process, deliver: () => void): void {
    const lost = !this.healed && this.random.chance(this.#swarm.dropRate)
    const doubled = !this.healed && this.random.chance(this.#swarm.duplicateRate)
    if (from.isDead || this.isCut(from, to) || lost) return
    this.#scheduler.after(to, this.delayMs(), deliver)
    if (doubled) this.#scheduler.after(to, this.delayMs() + this.random.next() * this.lateMs, deliver)
  }

  /** Whether a connection breaks at this moment. */
  breaksNow(): boolean {
    return !this.healed && this.random.chance(this.#swarm.dropRate / 2)
  }

  /** What no process does. */
  laterByItself(delayMs: number, callback: () => void): void {
    this.#scheduler.after(this.#itself, delayMs, callback)
  }

  later(process: Process, delayMs: number, callback: () => void): () => void {
    return this.#scheduler.after(process, delayMs, callback)
  }
}

const CALL_LIMIT_MS = 10_000
const SILENCE_MS = 45_000

/** Requests and replies as messages of their own, without the SDK: as curl and the clients of the classic paths send them. */
export class MessageTransport {
  readonly #network: Network
  readonly #process: Process
  readonly #servers: readonly SimulatedServer[]
  /** What the servers know of this client: whom it may act for. */
  readonly #facts: Facts | undefined
  #current: number
  reconnects = 0

  constructor(
    network: Network,
    process: Process,
    { servers, first, facts }: { servers: readonly SimulatedServer[]; first: number; facts?: Facts },
  ) {
    this.#facts = facts
    this.#network = network
    this.#process = process
    this.#servers = servers
    this.#current = first % servers.length
  }

  call<Type extends RequestType>(request: InputOf<Type>): Promise<ReplyOf<Type>> {
    return this.#send(request, (server, arrived) => server.answer(arrived, this.#facts)) as Promise<ReplyOf<Type>>
  }

  /** An ask as the classic paths give it. */
  classic(ask: Omit<Acquire, 'type'> & { readonly resource: string }): Promise<ReplyOf<'acquire'>> {
    const command = { type: 'acquire', namespace: 'default', ...ask, classic: true } as const
    return this.#send(command, (server, arrived) => server.classic(arrived, this.#facts)) as Promise<ReplyOf<'acquire'>>
  }

  #send<Message>(
    request: Message,
    answer: (server: SimulatedServer, arrived: Message) => Promise<object>,
  ): Promise<object> {
    const server = this.#servers[this.#current]!
    const network = this.#network
    const text = JSON.stringify(request)
    return new Promise((resolve, reject) => {
      const giveUp = (why: string) => {
        this.#moveOn(server)
        reject(new UnavailableError(why))
      }
      const cancel = network.later(this.#process, CALL_LIMIT_MS, () => giveUp('no answer in time'))
      const { process } = server
      if (process.isDead) {
        network.send(process.isDead ? this.#process : process, this.#process, () => giveUp('connection refused'))
        return
      }
      network.send(this.#process, process, () => {
        void answer(server, JSON.parse(text)).then((reply) => {
          if (server.process !== process) return
          network.send(process, this.#process, () => {
            cancel()
            resolve(JSON.parse(JSON.stringify(reply)))
          })
        })
      })
    })
  }

  listen(scope: Extract<Scope, { of: 'ask' }>, { onEvent, onEnd }: StreamHandlers): { close(): void } {
    const network = this.#network
    const server = this.#servers[this.#current]!
    const { process } = server
    let open = true
    let stop = () => {}
    let arrivesAtMs = 0
    const end = (reason: string) => {
      if (!open) return
      open = false
      stop()
      network.streams.delete(stream)
      this.reconnects++
      this.#moveOn(server)
      onEnd({ reason })
    }
    const stream = {
      cut: () => {
        network.later(this.#process, network.delayMs(), () => end('connection reset'))
      },
    }
    network.streams.add(stream)
    const dead = () => process.isDead || network.isCut(process, this.#process)
    // What is lost on a stream is everything from there on: TCP delivers in order or not at all.
    let broken = false
    const carry = (deliver: () => void) => {
      if (broken) return
      if (dead()) {
        broken = true
        network.later(this.#process, process.isDead ? network.delayMs() : SILENCE_MS, () =>
          end('the stream fell silent'),
        )
        return
      }
      arrivesAtMs = Math.max(arrivesAtMs + 0.001, network.nowMs + network.delayMs())
      network.later(this.#process, arrivesAtMs - network.nowMs, () => {
        if (open) deliver()
      })
    }
    if (process.isDead || network.isCut(this.#process, process)) {
      network.later(this.#process, process.isDead ? network.delayMs() : CALL_LIMIT_MS, () => end('no connection'))
    } else {
      network.later(process, network.delayMs(), () => {
        void server
          .listen(scope, (event, id) => carry(() => onEvent(JSON.parse(JSON.stringify(event)), id)))
          .then(
            (remove) => {
              stop = remove
              if (!open) remove()
            },
            () => carry(() => end('the server failed')),
          )
      })
      process.onDeath(() => network.later(this.#process, network.delayMs() + 1, () => end('the server went away')))
    }
    return {
      close: () => {
        open = false
        network.streams.delete(stream)
        stop()
      },
    }
  }

  #moveOn(from: SimulatedServer): void {
    if (this.#servers[this.#current] === from) this.#current = (this.#current + 1) % this.#servers.length
  }
}
