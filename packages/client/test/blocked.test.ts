import { setTimeout as pause } from 'node:timers/promises'
import { open } from 'baton-lock'
import { expect, onTestFinished, test } from 'vitest'

/** No timer and no promise runs meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

test('a lock knows at once that the event loop was blocked for too long, and its signal one turn later', async () => {
  const baton = await open('memory:', { ttlMs: 1_000, onNotice: () => {} })
  onTestFinished(() => baton.close())
  // From a callback of each phase in which the loop could have been blocked.
  const turns = [() => Promise.resolve(), () => pause(1), () => new Promise(setImmediate)]
  for (const turn of turns) {
    const lock = await baton.lock('ledger')
    const { signal } = lock
    await turn()
    expect(lock.isHeld).toBe(true)
    block(1_000)
    expect(signal.aborted).toBe(false)
    await pause(0)
    expect(signal.reason).toMatchObject({ code: 'grant-lost', cause: { kind: 'event-loop-blocked' } })
    await expect(lock.release()).rejects.toThrow('the event loop was blocked')
  }
  const lock = await baton.lock('ledger')
  block(1_000)
  expect(lock.isHeld).toBe(false)
  expect(() => lock.throwIfLost()).toThrow(/lock ledger: lost the grant: the event loop was blocked for 1\.\ds/)
  expect(lock.signal.aborted).toBe(true)
})
