import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { systemClientClock } from '../clock.ts'
import { inOwnContext } from './own-context.ts'

test('timers run in the context in which the clock was made, and can be called off', async () => {
  const callers = new AsyncLocalStorage<string>()
  const clock = callers.run('connecting', () => inOwnContext(systemClientClock()))
  const seen = await callers.run('asking', async () => {
    clock.after(0, () => expect.unreachable())()
    const inTimer = await new Promise((resolve) => clock.after(1, () => resolve(callers.getStore())))
    // Who awaits a timer goes on in its own.
    return [inTimer, callers.getStore()]
  })
  expect(seen).toEqual(['connecting', 'asking'])
})
