import { createServer as createHttpServer, request } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { defaultPolicy } from '@baton-lock/core'
import { type AppOptions, buildApp, listen } from '@baton-lock/server'
import { Service, systemClock } from '@baton-lock/service'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { clientClockOf } from '@baton-lock/test-support/client-clock'
import { callBy } from '@baton-lock/test-support/client-stream'
import { outcomeOf, work } from '@baton-lock/test-support/client-world'
import { expect, onTestFinished, test } from 'vitest'
import { type ClientClock, systemClientClock } from '../src/clock.ts'
import type { StreamEnd } from '../src/connection/transport.ts'
import { webSocketDial } from '../src/connection/web-socket.ts'
import { WebSocketTransport } from '../src/connection/web-socket-transport.ts'
import type { ConnectOptions } from '../src/index.ts'
import { connect, RefusedError, UnavailableError } from '../src/index.ts'

/** Real servers over one service, on real sockets. They go with the test. */
function newServers() {
  const clock = systemClock()
  const service = new Service({ store: openMemoryStore({ clock, policy: defaultPolicy }) })
  onTestFinished(async () => {
    await service.close()
    clock.stop()
  })
  const serve = async (options: Partial<AppOptions> = {}) => {
    const app = buildApp({ service, ...options })
    let running = true
    const stop = async () => {
      if (running) await app.close()
      running = false
    }
    onTestFinished(stop)
    return { url: await listen(app, { port: 0 }), stop, drain: () => app.drain(8_000) }
  }
  return { service, serve }
}

async function client(urls: string | string[], options: ConnectOptions = {}) {
  const baton = await connect(urls, options)
  onTestFinished(() => baton.close())
  return baton
}

interface TransportOptions {
  readonly clock?: ClientClock
  readonly notices?: string[]
}

function transport(urls: string[], { clock = systemClientClock(), notices = [] }: TransportOptions = {}) {
  const bases = urls.map((url) => new URL(url))
  const notice = (text: string) => void notices.push(text)
  const made = new WebSocketTransport({ bases, dial: webSocketDial({}), clock, notice })
  onTestFinished(() => made.close())
  return made
}

/** Something that listens and never says a word. */
async function blackhole(): Promise<string> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('ten nodes want the same work, one does it, nine are told', async () => {
  const { serve } = newServers()
  const { url } = await serve()
  const nodes = await Promise.all(Array.from({ length: 10 }, (_, i) => client(url, { node: `node-${i}` })))
  const job = work<{ bytes: number }>()
  let runs = 0
  const all = nodes.map((baton) =>
    baton.run('pull', 'sha256:a/b c?d&e', () => {
      runs++
      return job.done
    }),
  )
  await until(async () => (await nodes[0]!.status('sha256:a/b c?d&e')).waiting === 9)
  job.finish({ bytes: 3 })
  const done = await Promise.all(all)
  expect(runs).toBe(1)
  expect(done.filter(({ status }) => status === 'skipped')).toHaveLength(9)
  for (const { result } of done) expect(result).toEqual({ bytes: 3 })
  expect((await nodes[0]!.references.list('sha256:a/b c?d&e')).length).toBe(10)
})

test('a failure reaches the next in line through the stream', async () => {
  const { serve } = newServers()
  const { url } = await serve()
  const [a, b] = [await client(url, { node: 'a' }), await client(url, { node: 'b' })]
  const grant = await a.acquire('pull', 'x')
  const next = b.acquire('pull', 'x')
  await until(async () => (await a.status('x')).waiting === 1)
  await grant.fail(new Error('no route'))
  expect(await next).toMatchObject({ fence: 2, attempt: 2, previous: { node: 'a', error: 'no route' } })
})

test('everything else that a client can ask', async () => {
  const { serve } = newServers()
  const { url } = await serve()
  const baton = await client(`${url}/`, { node: 'a' })
  const grant = await baton.acquire('lock', 'l')
  grant.progress({ percent: 5 })
  await until(async () => (await baton.status('l')).grants[0]?.progress !== undefined)
  expect(await grant.waiters()).toEqual([])
  const listed: string[] = []
  for await (const { resource } of baton.list({ active: true })) listed.push(resource)
  expect(listed).toEqual(['l'])
  expect(await baton.revoke('lock', 'l', { fence: 1 })).toEqual({ node: 'a', fence: 1 })
  expect(await baton.references.add('l')).toBe(1)
  expect(await baton.references.dropNode('a')).toBe(1)
  const { version, policy } = await baton.policy()
  expect((await baton.applyPolicy(policy, version)).version).toBe(version + 1)
  expect(await outcomeOf(baton.acquire('nonsense', 'x'))).toMatchObject({ code: 'unknown-operation' })
})

test('a revoked holder is told by its signal', async () => {
  const { serve } = newServers()
  const { url } = await serve()
  const [a, operator] = [await client(url, { node: 'a' }), await client(url, { node: 'o' })]
  const first = await a.acquire('lock', 'l')
  const second = a.acquire('lock', 'l')
  await until(async () => (await a.status('l')).waiting === 1)
  await operator.revoke('lock', 'l')
  expect((await second).fence).toBe(2)
  await until(() => first.signal.aborted)
})

test('events, with what happened while the stream was away', async () => {
  const { serve } = newServers()
  const [one, two] = [await serve(), await serve()]
  const [watcher, actor] = [await client([one.url, two.url]), await client(two.url, { node: 'a' })]
  const seen: string[] = []
  const stop = new AbortController()
  const watching = (async () => {
    for await (const event of watcher.events({ signal: stop.signal })) {
      seen.push('resource' in event ? `${event.type} ${event.resource}` : event.type)
    }
  })()
  await until(() => seen.length === 1)
  await actor.references.add('x')
  await until(() => seen.length === 2)
  await one.stop()
  await actor.references.add('y')
  await until(() => seen.length === 3)
  expect(seen).toEqual(['state', 'referenced x', 'referenced y'])
  stop.abort()
  await watching
})

test('a server that goes is left for the next one: grants and places in line live on', async () => {
  const { serve } = newServers()
  const [one, two] = [await serve(), await serve()]
  const notices: string[] = []
  const a = await client(`${one.url},${two.url}`, { node: 'a', onNotice: (notice) => notices.push(notice) })
  const b = await client([one.url, two.url], { node: 'b' })
  const grant = await a.acquire('lock', 'l')
  let runs = 0
  const waiting = b.run('lock', 'l', ({ fence }) => {
    runs++
    return fence
  })
  await until(async () => (await a.status('l')).waiting === 1)
  await one.stop()
  await grant.succeed()
  expect(await waiting).toMatchObject({ status: 'performed', result: 2 })
  expect(runs).toBe(1)
  expect(notices.some((notice) => notice.startsWith(`leaving ${one.url}`))).toBe(true)
})

test('a server that swallows everything is left for the next one', async () => {
  const { serve } = newServers()
  const { url } = await serve()
  const baton = await client([await blackhole(), url], { node: 'a', whenUnavailable: 'fail' })
  expect(await baton.run('lock', 'l', () => 'done')).toMatchObject({ status: 'performed' })
})

test('a call that nobody answers ends when its time is up', async () => {
  const clock = new SimulatedClock()
  const url = await blackhole()
  const call = outcomeOf(callBy(transport([url], { clock: clientClockOf(clock) }), { type: 'get-policy' }, 3_000))
  await clock.advance(3_000)
  expect(await call).toMatchObject({
    code: 'unavailable',
    message:
      `no answer from ${url}: nothing came for 3000 ms: the server cannot be reached, or a proxy in between accepts ` +
      'WebSockets and drops their frames, and has to pass them on',
  })
})

test('a stream that is silent for 45 s is dead, whatever TCP reports', async () => {
  const clock = new SimulatedClock()
  const { serve } = newServers()
  const { url } = await serve()
  const [opened, ended] = [work(), work<string>()]
  const handlers = { onEvent: () => opened.finish(), onEnd: ({ reason }: { reason: string }) => ended.finish(reason) }
  transport([url], { clock: clientClockOf(clock) }).listen({ of: 'all' }, handlers)
  await opened.done
  await clock.advance(44_000)
  await clock.advance(1_000)
  expect(await ended.done).toMatch(/nothing came for 45000 ms/)
})

test('a client whose server is about to stop goes on with the next one, and says nothing', async () => {
  const { serve } = newServers()
  const [first, second] = [await serve(), await serve()]
  const notices: string[] = []
  const by = transport([first.url, second.url], { notices })
  const [opened, ended] = [work(), work<StreamEnd>()]
  by.listen({ of: 'all' }, { onEvent: () => opened.finish(), onEnd: (end) => ended.finish(end) })
  await opened.done
  const drained = first.drain()
  expect(await ended.done).toMatchObject({ isMove: true })
  expect(await callBy(by, { type: 'get-policy' })).toMatchObject({ status: 'policy' })
  expect([await drained, notices]).toEqual([{ cut: 0 }, []])
})

test('a client of one server that stops tries it again, and says nothing', async () => {
  const { serve } = newServers()
  const server = await serve()
  const notices: string[] = []
  const by = transport([server.url], { notices })
  const [opened, ended] = [work(), work<StreamEnd>()]
  by.listen({ of: 'all' }, { onEvent: () => opened.finish(), onEnd: (end) => ended.finish(end) })
  await opened.done
  await server.drain()
  expect(await ended.done).toMatchObject({ isMove: true })
  expect(await outcomeOf(callBy(by, { type: 'get-policy' }))).toMatchObject({ code: 'unavailable', isAnnounced: true })
  expect(notices).toEqual([])
})

test('a proxy that leaves out the upgrade: the error says what to change there', async () => {
  const { serve } = newServers()
  const { url } = await serve()
  const proxy = createHttpServer(({ method, url: path, headers }, reply) => {
    const { upgrade: _, connection: __, ...rest } = headers
    request(`${url}${path}`, { method, headers: rest }, (answer) => {
      reply.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(reply)
    }).end()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  const through = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
  const baton = await client(through, { whenUnavailable: 'fail', onNotice: () => {} })
  expect(await outcomeOf(callBy(transport([through]), { type: 'get-policy' }))).toMatchObject({
    code: 'unavailable',
    message:
      `no answer from ${through}: it answered 404 instead of opening a WebSocket at /v1/stream: check that this is the ` +
      'URL of a Baton server, and let a proxy in between pass on the headers Upgrade and Connection',
  })
  expect(await outcomeOf(baton.lock('l'))).toMatchObject({ message: expect.stringContaining('pass on the headers') })
})

test('a server that is not Baton is no server', async () => {
  const page = createHttpServer((_, reply) => reply.writeHead(403, { 'content-type': 'text/html' }).end('<h1>no</h1>'))
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void page.close())
  const url = `http://127.0.0.1:${(page.address() as { port: number }).port}`
  const error = await outcomeOf(callBy(transport([url]), { type: 'get-policy' }))
  expect(error).toBeInstanceOf(UnavailableError)
  expect((error as Error).message).toMatch(/it answered 403 instead of opening a WebSocket/)
})

test('nobody there: an UnavailableError that says where', async () => {
  const { serve } = newServers()
  const { url, stop } = await serve()
  await stop()
  const error = await outcomeOf(callBy(transport([url]), { type: 'get-policy' }))
  expect(error).toBeInstanceOf(UnavailableError)
  expect((error as Error).message).toMatch(new RegExp(`no answer from ${url}: .*ECONNREFUSED`))
})

test('a token is sent as a bearer token, and a wrong one is a refusal', async () => {
  const { createHash } = await import('node:crypto')
  const { serve } = newServers()
  const sha256 = createHash('sha256').update('s3cret').digest('hex')
  const { url } = await serve({ tokens: [{ sha256, role: 'admin' }] })
  const baton = await client(url, { token: 's3cret', node: 'a' })
  expect((await baton.run('lock', 'l', () => 1)).status).toBe('performed')
  const stranger = await client(url, { token: 'guess' })
  const error = await outcomeOf(stranger.run('lock', 'l', () => 1))
  expect(error).toBeInstanceOf(RefusedError)
  expect(error).toMatchObject({ code: 'unauthorised' })
  for await (const event of baton.events()) {
    expect(event.type).toBe('state')
    break
  }
  await expect(stranger.events()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'unauthorised' })
})

test('URLs are checked: no credentials, no other schemes', async () => {
  await expect(connect('ftp://x')).rejects.toThrow(/'ftp:\/\/x' is not the URL of a server/)
  await expect(connect('http://user:secret@host')).rejects.toThrow(/give a token instead/)
  await expect(connect('')).rejects.toThrow(/no server is named/)
})
