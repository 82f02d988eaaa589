import { setTimeout as pause } from 'node:timers/promises'
import type { Baton, Done } from 'baton-lock'

export interface Seen {
  readonly performed: number
  /** How many were at it at a time, at most. */
  readonly together: number
}

/** Five tasks under one lock, and one more grant of it that is held by hand. */
export async function excludes(baton: Baton): Promise<Seen> {
  let running = 0
  let together = 0
  const work = async () => {
    together = Math.max(together, ++running)
    await pause(2)
    running--
  }
  const tasks: Promise<Done<void>>[] = Array.from({ length: 5 }, () => baton.run('lock', 'counter', work))
  const done = await Promise.all(tasks)
  await using grant = await baton.acquire('lock', 'counter')
  await work()
  await grant.succeed()
  return { performed: done.filter(({ status }) => status === 'performed').length, together }
}
