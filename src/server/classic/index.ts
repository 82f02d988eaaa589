import type { FastifyInstance } from 'fastify'
import { KeyWatches } from './key-watches.ts'
import { serveLock } from './lock.ts'
import type { ClassicOptions } from './options.ts'
import { serveStatus } from './status.ts'
import { serveSubscribe } from './subscribe.ts'
import { serveUnlock } from './unlock.ts'

/** /lock, /unlock, /lock/subscribe and /lock/status, as existing clients speak them. */
export function serveClassic(app: FastifyInstance, options: Omit<ClassicOptions, 'watches'>): void {
  const watches = new KeyWatches(options)
  const classic = { ...options, watches }
  serveLock(app, classic)
  serveUnlock(app, classic)
  serveStatus(app, classic)
  serveSubscribe(app, classic)
  app.addHook('preClose', async () => watches.close())
}
