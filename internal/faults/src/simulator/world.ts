import { Client } from '@baton-lock/client/client'
import { WebSocketTransport } from '@baton-lock/client/connection/web-socket-transport'
import { builtInOperations, defaultNamespacePolicy, type Policy } from '@baton-lock/core'
import { SteadyClock } from '@baton-lock/service'
import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Store } from '@baton-lock/store/store'
import { FencedResource } from '@baton-lock/testing/fenced-resource'
import { FaultyStore } from '../faulty-store.ts'
import type { ClientRecord } from '../history/history.ts'
import { recordSessions } from '../history/record-sessions.ts'
import { simulatedDial } from './dial.ts'
import { DurableStore, type SimulatedRecord } from './durable-store.ts'
import { MessageTransport, Network } from './network.ts'
import { ADVERSARY, clientName, type Plan, type Swarm } from './plan.ts'
import { Process, Scheduler } from './scheduler.ts'
import { SimulatedServer } from './server.ts'

/** A client process: the real SDK over the simulated network. */
export interface SimulatedClient {
  readonly name: string
  readonly process: Process
  readonly baton: Client
  readonly transport: WebSocketTransport
  /** Requests without the SDK. */
  readonly messages: MessageTransport
}

/** How often a proxy is in the way of a client's connections: of most clients there is none. */
const PROXY_RATES = [0, 0, 0, 0, 0, 0.6, 0.6, 0.3]

/** Everything that there is in one run. */
export class World {
  readonly scheduler = new Scheduler()
  readonly random: Random
  readonly network: Network
  readonly history: SimulatedRecord[] = []
  readonly fenced: FencedResource
  readonly policy: Policy
  /** What all servers share; that of the present one in mode `file`. */
  store: Store
  readonly servers: SimulatedServer[]
  readonly clients: SimulatedClient[]
  /** Somebody who may act for itself alone, and tries more. */
  readonly adversary: { readonly transport: MessageTransport }
  readonly #swarm: Swarm
  /** The world itself: what happens to everybody. */
  readonly outside = new Process('outside', this.scheduler)
  readonly #durable: DurableStore
  storeAway = 0
  reconnects = 0
  #lives = 0

  constructor({ seed, swarm }: Plan, { checkFences = true }: { readonly checkFences?: boolean } = {}) {
    this.random = seededRandom(seed ^ 0x5eed)
    this.#swarm = swarm
    this.fenced = new FencedResource({ check: checkFences })
    this.network = new Network({ scheduler: this.scheduler, random: this.random, swarm })
    this.policy = policyOf(swarm)
    // A server that keeps all in memory has a clock that stands still while it is paused; a shared store has its own.
    const steady = new SteadyClock({ rawMs: () => this.scheduler.nowMs() })
    const clock = swarm.mode === 'single' ? steady : this.scheduler
    const record = (entry: SimulatedRecord) => this.history.push(entry)
    const memory = openMemoryStore({
      clock,
      policy: this.policy,
      onStep: (step) => record({ kind: 'step', ...step, monoMs: this.scheduler.nowMs() }),
    })
    this.store = recordSessions(memory, record)
    const { scheduler, random, policy, history } = this
    this.#durable = new DurableStore({ scheduler, random, policy, history })
    this.servers = Array.from({ length: swarm.servers }, (_, index) => this.#server(`server-${index}`))
    if (swarm.mode === 'single') this.#beat(steady, this.servers[0]!)
    this.clients = Array.from({ length: swarm.clients }, (_, index) => this.#client(index))
    const process = new Process(ADVERSARY, scheduler)
    const own = { servers: this.servers, first: random.integer(16), facts: { actsFor: [ADVERSARY] } }
    this.adversary = { transport: new MessageTransport(this.network, process, own) }
  }

  note(client: string, what: ClientRecord['what']): void {
    this.history.push({ kind: 'client', nowMs: this.scheduler.nowMs(), client, what })
  }

  /** The client dies; another one takes its name. */
  replaceClient(index: number): void {
    const { process, transport, messages, name } = this.clients[index]!
    process.kill()
    this.note(name, 'crashed')
    this.reconnects += transport.reconnects + messages.reconnects
    this.clients[index] = this.#client(index)
  }

  #server(name: string): SimulatedServer {
    // A service closes its store with itself; this one outlives it.
    const openStore = (process: Process) => {
      if (this.#swarm.mode === 'shared') return this.#wayTo(this.store, process)
      if (this.#swarm.mode === 'single') return { ...this.store, close: async () => {} }
      this.store = recordSessions(this.#durable.open(process), (entry) => this.history.push(entry))
      return this.store
    }
    const { waiterLimit } = this.#swarm
    return new SimulatedServer({ name, scheduler: this.scheduler, openStore, waiterLimit })
  }

  #wayTo(store: Store, process: Process): Store {
    const { storeFaultRate, storeLatencyMs } = this.#swarm
    const { random, scheduler } = this
    let arrivesAtMs = 0
    const carried: (() => void)[] = []
    return new FaultyStore(store, {
      delayMs: () => random.next() * storeLatencyMs,
      fault: () => {
        if (this.storeAway > 0) return 'before'
        if (this.network.healed || !random.chance(storeFaultRate)) return undefined
        return random.pick(['before', 'after'])
      },
      wait: (delayMs) => new Promise((resolve) => scheduler.after(process, delayMs, resolve)),
      carry: (deliver) => {
        arrivesAtMs = Math.max(arrivesAtMs + 0.001, scheduler.nowMs() + random.next() * storeLatencyMs)
        carried.push(deliver)
        // What a paused process has missed comes in any order; events do not.
        scheduler.after(process, arrivesAtMs - scheduler.nowMs(), () => carried.shift()!())
      },
    })
  }

  #client(index: number): SimulatedClient {
    const name = clientName(index)
    const { scheduler, random, network } = this
    const process = new Process(name, scheduler)
    const life = ++this.#lives
    let ids = 0
    const { servers } = this
    const first = random.integer(16)
    const messages = new MessageTransport(network, process, { servers, first })
    const clock = {
      monoMs: () => scheduler.nowMs(),
      wallMs: () => scheduler.nowMs(),
      after: (delayMs: number, callback: () => void) => scheduler.after(process, delayMs, callback),
      stayAwake: () => () => {},
    }
    const notice = () => {}
    const dial = simulatedDial(network, { process, servers, proxyRate: random.pick(PROXY_RATES) })
    const bases = servers.map((server) => new URL(`http://${server.name}`))
    const transport = new WebSocketTransport({ bases, dial, clock, notice }, first)
    const id = () => `${name}.${life}.${++ids}`
    const chance = { id, name: id, fraction: () => random.next() }
    const options = { node: name, ttlMs: this.#swarm.ttlMs }
    const baton = new Client(transport, { clock, random: chance, notice }, options)
    return { name, process, baton, transport, messages }
  }

  #beat(clock: SteadyClock, server: SimulatedServer): void {
    clock.beat()
    this.scheduler.after(server.process, 200, () => this.#beat(clock, server))
  }
}

function policyOf({ exclusion, claimMs, attempts, retryDelayMs }: Swarm): Policy {
  const operations = Object.fromEntries(
    Object.entries(builtInOperations).map(([name, row]) => [name, { ...row, attempts, retryDelayMs }]),
  )
  return { namespaces: { default: { ...defaultNamespacePolicy, exclusion, claimMs, operations } } }
}
