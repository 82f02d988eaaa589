import type { Log, Service, Timers } from '@baton-lock/service'
import type { App } from '../app.ts'

/** A server that runs, and how long it may take to stop. */
interface StopOptions {
  readonly app: App
  readonly service: Service
  readonly log: Log
  readonly timers: Timers
  /** Monotonic milliseconds. */
  readonly nowMs: () => number
  /** So long requests under way and streams are waited for. */
  readonly drainMs: number
  /** After so long nothing is waited for any more. */
  readonly limitMs: number
}

/** Stops a server: readiness, connections, streams, requests, state. Resolves when all of it is done, or the time is over. */
export async function stop({ log, timers, nowMs, limitMs, ...options }: StopOptions): Promise<void> {
  const startMs = nowMs()
  const tookMs = () => Math.round(nowMs() - startMs)
  log.info('stopping')
  let isOver = false
  const done = stopAll({ ...options, log }).then((cut) => {
    if (!isOver) log.info('stopped', { tookMs: tookMs(), cut })
  })
  let callOff = () => {}
  const late = new Promise<void>((resolve) => {
    callOff = timers.after(limitMs, () => {
      log.error('not stopped in time; what the store has not acknowledged may be lost', { tookMs: tookMs() })
      resolve()
    })
  })
  await Promise.race([done, late]).finally(() => {
    isOver = true
    callOff()
  })
}

async function stopAll({
  app,
  service,
  log,
  drainMs,
}: Pick<StopOptions, 'app' | 'service' | 'log' | 'drainMs'>): Promise<number> {
  const { cut } = await app.drain(drainMs)
  if (cut > 0) log.warn('connections cut, as they were not done in time', { connections: cut, afterMs: drainMs })
  await app.close()
  await service.close()
  return cut
}
