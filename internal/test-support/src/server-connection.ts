import { errorBody, type ServerFrame } from '@baton-lock/protocol'
import { defaultLimits } from '@baton-lock/server/limits'
import { knownBodyOf } from '@baton-lock/server/refusal'
import type { Wire } from '@baton-lock/server/web-socket/peer-stream'
import { noLog, Service } from '@baton-lock/service'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { AskAt, Store } from '@baton-lock/store/store'
import { onTestFinished } from 'vitest'
import { newPeerStream } from './peer-stream.ts'

/* The server's side of one stream, by itself, on a store in memory. */

export const UNREAD_BYTES = 4_000

export function world({ wrap = (store: Store): Store => store } = {}) {
  const clock = new SimulatedClock()
  const acknowledged: AskAt[] = []
  const memory = openMemoryStore({ clock })
  const acknowledge = (ask: AskAt) => {
    acknowledged.push(ask)
    memory.acknowledge!(ask)
  }
  const store = wrap(overlaid(memory, { acknowledge }))
  const service = new Service({ store, timers: clock })
  onTestFinished(() => service.close())
  const open = () => {
    const frames: ServerFrame[] = []
    const ends: string[] = []
    const reading: string[] = []
    const wire: { -readonly [Name in keyof Wire]: Wire[Name] } = {
      send: (text) => frames.push(JSON.parse(text)),
      unsent: 0,
      wait: () => {},
      pause: () => reading.push('pause'),
      resume: () => reading.push('resume'),
      end: (how, why) => ends.push(`${how}: ${why}`),
    }
    const connection = newPeerStream({
      service,
      wire,
      timers: clock,
      guard: {
        checkScope: (_, { scope }) => {
          if (scope.of === 'session' && scope.session === 'forbidden') throw new Error('not you')
          return {}
        },
      },
      requestLog: {
        failed: (error) => knownBodyOf(error) ?? errorBody('unknown-outcome', String(error)),
        named: () => noLog,
      },
      limits: { ...defaultLimits, streamBytes: UNREAD_BYTES },
    })
    const send = async (frame: object) => {
      connection.receive(JSON.stringify(frame))
      await settled()
    }
    const replies = () => frames.flatMap(({ replies }) => replies ?? [])
    const events = () => frames.flatMap(({ events }) => events ?? [])
    return { connection, wire, frames, ends, reading, send, replies, events }
  }
  return { clock, service, store, acknowledged, open }
}

/** A store whose fields are partly others: its methods stay its own. */
export function overlaid(store: Store, fields: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name in fields) return fields[name as keyof Store]
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export const at = { operation: 'lock', resource: 'r', node: 'a', owner: 'a' }
export const ask = (hold: string, more = {}) => ({ type: 'acquire', ...at, hold, ttlMs: 10_000, ...more })
export const release = (hold: string, fence: number, more = {}) => ({
  type: 'release',
  ...at,
  hold,
  fence,
  outcome: 'success',
  ...more,
})
