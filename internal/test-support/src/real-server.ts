import { buildApp, listen } from '@baton-lock/server'
import { Service, systemClock } from '@baton-lock/service'
import { openMemoryStore } from '@baton-lock/store/memory'
import { onTestFinished } from 'vitest'

/** A server on a memory store, with real time, on a real socket: its URL. It goes with the test. */
export async function startRealServer(): Promise<string> {
  const clock = systemClock()
  const service = new Service({ store: openMemoryStore({ clock }) })
  const app = buildApp({ service })
  onTestFinished(async () => {
    await app.close()
    await service.close()
    clock.stop()
  })
  return listen(app, { port: 0 })
}
