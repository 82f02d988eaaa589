import { Dashboard } from '@baton-lock/dashboard/model/dashboard'
import type { PageSocket, SocketHandlers } from '@baton-lock/dashboard/model/stream'
import { type ErrorBody, errorBody, type ServiceRequest, type Who } from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import { defaultLimits } from '@baton-lock/server/limits'
import type { PeerStream } from '@baton-lock/server/web-socket/peer-stream'
import { type Asked, ReadTurns, Service, Statistics } from '@baton-lock/service'
import { SimulatedClock, settled } from '@baton-lock/store/conformance/simulated-clock'
import { openMemoryStore } from '@baton-lock/store/memory'
import { StoreUnavailable } from '@baton-lock/store/store'
import { onTestFinished } from 'vitest'
import { newPeerStream } from './peer-stream.ts'

/* All of the dashboard but what is on screen, on the real connection of a server over a store in memory. */

const ANYBODY: Who = { status: 'who', role: 'anybody' }

export interface PageWorld {
  readonly clock: SimulatedClock
  readonly dashboard: Dashboard
  /** What was asked on the stream, by type. */
  readonly asked: string[]
  /** What the server says to whoever asks who it is; throws where it is away. */
  who: () => Who | ErrorBody
  /** Whatever is read is refused: the store cannot be reached. */
  isStoreAway: boolean
  /** The connection breaks. */
  cut(): void
  /** The server says that it is about to stop. */
  drain(): void
  /** A request of somebody else; throws where it is refused. */
  call(request: {
    readonly type: keyof typeof requestSchemas
    readonly [field: string]: unknown
  }): Promise<{ fence: number }>
  pass(ms: number): Promise<void>
}

/** A page that is not connected yet. Goes with the test. */
export function newPageWorld(): PageWorld {
  const clock = new SimulatedClock()
  const store = openMemoryStore({ clock })
  const readTurns = new ReadTurns({ nowMs: () => 0, later: queueMicrotask })
  const statistics = new Statistics({ sinceMs: clock.nowMs() })
  const service = new Service({ store, timers: clock, readTurns, statistics })
  onTestFinished(() => service.close())
  const asked: string[] = []
  let cut = () => {}
  let drain = () => {}
  const dial = (handlers: SocketHandlers): PageSocket => {
    let isOpen = true
    const connection: PeerStream = newPeerStream({
      service,
      timers: clock,
      wire: {
        send: (text) => queueMicrotask(() => isOpen && handlers.onText(text)),
        unsent: 0,
        wait: () => {},
        pause: () => {},
        resume: () => {},
        end: () => cut(),
      },
      admission: {
        admit: (_, request) => {
          asked.push(request.type)
          if (world.isStoreAway) throw new StoreUnavailable()
          return { request: request as ServiceRequest, facts: {} }
        },
      },
      limits: { ...defaultLimits, streamBytes: 1_000_000 },
    })
    drain = () => connection.drain()
    const close = () => {
      isOpen = false
      connection.close()
    }
    cut = () => {
      if (!isOpen) return
      close()
      handlers.onClose()
    }
    return { send: (text) => connection.receive(text), close }
  }
  const timers = {
    after: (delayMs: number, callback: () => void) => clock.after(delayMs, callback),
    monoMs: () => clock.nowMs() - 1_600_000_000_000,
    random: () => 1,
  }
  const dashboard = new Dashboard({ timers, dial, who: async () => world.who() })
  const world: PageWorld = {
    clock,
    dashboard,
    asked,
    who: () => ANYBODY,
    isStoreAway: false,
    cut: () => cut(),
    drain: () => drain(),
    async call(request) {
      const { request: good, facts } = checked(request) as Asked
      const reply = await service.call(good, facts)
      if (reply.status === 'refused') throw new Error(reply.message)
      await settled()
      return reply as unknown as { fence: number }
    },
    pass: (ms) => clock.advance(ms),
  }
  return world
}

function checked(input: unknown): Asked | ErrorBody {
  const { type } = input as { type: keyof typeof requestSchemas }
  const result = requestSchemas[type].safeParse(input)
  return result.success
    ? { request: result.data as Asked['request'], facts: {} }
    : errorBody('bad-request', String(result.error))
}
