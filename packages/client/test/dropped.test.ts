import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Baton, open } from 'baton-lock'
import { expect, onTestFinished, test } from 'vitest'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function client() {
  const notices: string[] = []
  const baton = await open('memory:', { onNotice: (notice) => notices.push(notice) })
  onTestFinished(() => baton.close())
  return { baton, notices }
}

/** In a function of its own, so that nothing on the stack refers to the lock. */
async function forget(baton: Baton, resource: string): Promise<number> {
  return (await baton.lock(resource)).fence
}

test('a lock that is garbage-collected without a release is a notice, and stays held', async () => {
  const { baton, notices } = await client()
  await forget(baton, 'forgotten')
  const kept = await baton.lock('kept')
  const { signal } = await baton.lock('watched')
  while (notices.length === 0) {
    await pause(50)
    collectGarbage()
  }
  collectGarbage()
  await pause(50)
  expect(notices).toEqual([
    expect.stringMatching(/^lock forgotten: its lock was garbage-collected without a release: it is held until/),
  ])
  // Somebody may rely on it: `await baton.lock('singleton')`.
  expect(await baton.tryLock('forgotten')).toBeNull()
  // Whoever has a lock, or the signal of one, can still release it, or learn of its loss.
  expect(kept.isHeld).toBe(true)
  expect(signal.aborted).toBe(false)
})
