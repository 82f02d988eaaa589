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

test('a lock that is garbage-collected without a release is a notice, and is released', async () => {
  const { baton, notices } = await client()
  await forget(baton, 'forgotten')
  const kept = await baton.lock('kept')
  const { signal } = await baton.lock('watched')
  const next = baton.lock('forgotten')
  while (notices.length === 0) {
    await pause(50)
    collectGarbage()
  }
  expect(await next).toMatchObject({ fence: 2 })
  collectGarbage()
  await pause(50)
  expect(notices).toEqual(['lock forgotten: its lock was garbage-collected without a release, and is released now'])
  expect(kept.isHeld).toBe(true)
  // Whoever has the signal of a lock relies on it.
  expect(signal.aborted).toBe(false)
  expect(await baton.tryLock('watched')).toBeNull()
})
