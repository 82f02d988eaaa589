import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { rawSocket } from '@baton-lock/test-support/raw-socket'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import { stop } from './stop.ts'

function stopping({ app, service, clock }: World) {
  const { log, entries } = recordedLog()
  const done = stop({ app, service, log, timers: clock, nowMs: () => clock.nowMs(), drainMs: 8_000, limitMs: 10_000 })
  return { done, entries }
}

test('the log says that a server stops and that it has, and how long that took', async () => {
  const world = newWorld()
  await world.url()
  const { done, entries } = stopping(world)
  expect(entries).toEqual([['info', 'stopping', {}]])
  await done
  expect(entries.slice(1)).toEqual([['info', 'stopped', { tookMs: 0, cut: 0 }]])
})

test('who is cut is told of', async () => {
  const world = newWorld()
  const socket = await rawSocket(world)
  socket.write('POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n')
  await quiet()
  const { done, entries } = stopping(world)
  await world.clock.advance(8_000)
  await done
  expect(entries.slice(1)).toEqual([
    ['warn', 'connections cut, as they were not done in time', { connections: 1, afterMs: 8_000 }],
    ['info', 'stopped', { tookMs: 8_000, cut: 1 }],
  ])
})

test('a store that does not close is not waited for', async () => {
  let isAsked = false
  const world = newWorld({
    wrap: (store) =>
      overlaid(store, {
        close: () => {
          if (isAsked) return store.close()
          isAsked = true
          return new Promise(() => {})
        },
      }),
  })
  await world.url()
  const { done, entries } = stopping(world)
  while (!isAsked) await settled()
  await world.clock.advance(10_000)
  await done
  expect(entries.slice(1)).toEqual([
    ['error', 'not stopped in time; what the store has not acknowledged may be lost', { tookMs: 10_000 }],
  ])
})
