import type { AddressedEvent } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { Listeners } from './listeners.ts'

const event = (resource: string) => ({ event: { type: 'referenced', resource } }) as unknown as AddressedEvent

test('events of a step that a listener takes come after those that are being told', () => {
  const listeners = new Listeners()
  const told: string[] = []
  listeners.add(({ event: { resource } }) => {
    told.push(resource)
    if (resource === 'first') listeners.tell([event('nested')])
  })
  listeners.tell([event('first'), event('second')])
  listeners.tell([event('third')])
  expect(told).toEqual(['first', 'second', 'nested', 'third'])
})
