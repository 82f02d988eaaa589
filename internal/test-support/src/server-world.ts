import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Policy } from '@baton-lock/core'
import { type App, type AppOptions, buildApp, listen, sessionLog } from '@baton-lock/server'
import { Service, Statistics, systemTimers, systemWallMs } from '@baton-lock/service'
import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Store } from '@baton-lock/store/store'
import { onTestFinished } from 'vitest'

export interface World {
  readonly app: App
  readonly clock: SimulatedClock
  readonly service: Service
  readonly store: Store
  readonly statistics: Statistics
  /** Where it listens; listens first if need be. */
  url(): Promise<string>
  send(sent: Sent): Promise<Answer>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  stream(path: string, headers?: Record<string, string>): Promise<OpenStream>
}

/** A request; its body is sent as it is, or as JSON. */
interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  /** The address that it comes from: any of 127.0.0.0/8, as far as the system has them. */
  readonly from?: string
}

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any
  readonly headers: IncomingHttpHeaders
}

/** A server over a memory store whose time passes only when told to. Goes with the test. */
export function newWorld(
  options: Partial<AppOptions> & { policy?: Policy; wrap?: (store: Store) => Store; resultLimit?: number } = {},
): World {
  const { policy, wrap = (store) => store, resultLimit, ...appOptions } = options
  const clock = new SimulatedClock()
  const onSession = options.log?.isDebug ? sessionLog(options.log) : undefined
  const store = wrap(openMemoryStore({ clock, onSession, ...(policy && { policy }) }))
  const statistics = new Statistics({ sinceMs: store.nowMs() })
  const service = new Service({
    store,
    timers: clock,
    resultLimit,
    statistics,
    ...(options.log && { log: options.log }),
  })
  const app = buildApp({ service, timers: clock, wallMs: () => clock.nowMs(), ...appOptions })
  onTestFinished(async () => {
    await app.close()
    await service.close()
  })
  return worldOf({ app, clock, service, store, statistics })
}

/** Another server over the same store, or the same one after a restart: it knows nothing but what the store knows. */
export function serverBeside({ clock, service, store, statistics }: World): World {
  const app = buildApp({ service, timers: clock, wallMs: () => clock.nowMs() })
  onTestFinished(() => app.close())
  return worldOf({ app, clock, service, store, statistics })
}

/** As much of a server as a classic client uses. */
export type ClassicServer = Pick<World, 'post' | 'stream'> & {
  readonly clock: Pick<SimulatedClock, 'nowMs' | 'after'>
}

/** A server that runs as a process of its own, in real time. */
export function serverAt(url: string): ClassicServer {
  return {
    clock: { nowMs: systemWallMs, after: systemTimers.after },
    post: (path, body, headers) => exchange(url, { method: 'POST', path, body, headers }),
    stream: (path, headers) => openStream(url + path, headers),
  }
}

function worldOf(parts: Pick<World, 'app' | 'clock' | 'service' | 'store' | 'statistics'>): World {
  let listening: Promise<string> | undefined
  const url = () => {
    listening ??= listen(parts.app, { port: 0 })
    return listening
  }
  const send = async (sent: Sent) => exchange(await url(), sent)
  return {
    ...parts,
    url,
    send,
    post: (path, body, headers) => send({ method: 'POST', path, body, headers }),
    get: (path, headers) => send({ method: 'GET', path, headers }),
    stream: async (path, headers) => openStream((await url()) + path, headers),
  }
}

/** One request on a connection of its own. */
function exchange(url: string, { method, path, headers = {}, body, from }: Sent): Promise<Answer> {
  const isText = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
  const data = isText ? body : JSON.stringify(body)
  const length = data === undefined ? {} : { 'content-length': Buffer.byteLength(data) }
  // Certificates of tests are signed by themselves.
  const options = {
    method,
    headers: { ...length, ...headers },
    agent: false,
    localAddress: from,
    rejectUnauthorized: false,
  }
  return new Promise((resolve, reject) => {
    const outgoing = (url.startsWith('https:') ? httpsRequest : httpRequest)(url + path, options)
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: parsed(text), headers: response.headers }),
      )
    })
    outgoing.end(data)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What a reader of a stream has seen so far. */
export interface OpenStream {
  readonly status: number
  readonly headers: Record<string, unknown>
  /** All text so far. */
  text(): string
  /** The `data:` of every frame so far. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  events(): any[]
  /** The `id:` of every frame so far. */
  ids(): string[]
  /** Waits for real input, not for time. */
  until(condition: () => boolean): Promise<void>
  /** Resolves with how it ended. */
  readonly ended: Promise<'end' | 'reset'>
  close(): void
}

function openStream(url: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { headers, agent: false })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      // Each frame is taken apart once: some tests look after every one of thousands.
      let taken = 0
      const events: unknown[] = []
      const ids: string[] = []
      const waiting = new Set<() => void>()
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        // Whole frames only: the last one may be under way.
        const end = text.lastIndexOf('\n\n') + 1
        for (const line of text.slice(taken, end).split('\n')) {
          if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)))
          else if (line.startsWith('id: ')) ids.push(line.slice(4))
        }
        taken = Math.max(taken, end)
        for (const look of waiting) look()
      })
      const ended = new Promise<'end' | 'reset'>((over) => {
        response.on('end', () => over('end'))
        response.on('error', () => over('reset'))
      })
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: () => text,
        events: () => [...events],
        ids: () => [...ids],
        until: (condition) =>
          new Promise((met) => {
            const look = () => {
              if (!condition()) return
              waiting.delete(look)
              met()
            }
            waiting.add(look)
            look()
          }),
        ended,
        close: () => outgoing.destroy(),
      })
    })
    outgoing.end()
  })
}

/** Lets what is under way on this machine's sockets arrive, for claims that nothing comes. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await settled()
}

/** The same by whole requests: when these are answered, what was sent before them has been too. */
export async function roundTrips(world: World, count = 3): Promise<void> {
  for (let trip = 0; trip < count; trip++) {
    const stream = await world.stream('/healthz')
    await stream.ended
  }
}
