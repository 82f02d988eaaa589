import type { Attack } from './attack.ts'
import { ask, deafSocket, flood, httpText, range, rawSocket, until } from './request.ts'

/** Attacks by plain HTTP: what is sent, how fast, and what is not read. */
export const httpAttacks: readonly Attack[] = [
  {
    name: 'pipelined-openapi',
    does: '40 sockets pipeline GET /openapi.json and never read',
    run: async (target) => {
      const burst = httpText('GET', '/openapi.json').repeat(1_200)
      await flood(target, {
        lanes: 40,
        one: async () => {
          const socket = await deafSocket(target)
          socket.write(burst)
          await Promise.race([until(target), new Promise((resolve) => socket.once('close', resolve))])
        },
      })
      return undefined
    },
  },
  {
    name: 'pipelined-lists',
    does: '40 sockets pipeline lists and never read',
    prepare: (target) => holdMany(target, 2_000),
    run: async (target) => {
      const list = httpText('GET', '/v1/resources?limit=1000', { token: target.tokens.observe })
      for (const _ of range(40)) (await deafSocket(target)).write(list.repeat(300))
      await until(target)
      return undefined
    },
  },
  {
    name: 'pipelined-asks',
    does: '20 sockets pipeline asks for the same lock and never read',
    run: async (target) => {
      const { node: token } = target.tokens
      const body = { operation: 'lock', resource: 'pipelined', node: 'attacker', owner: 'o', hold: 'h' }
      for (const _ of range(20))
        (await deafSocket(target)).write(httpText('POST', '/v1/acquire', { token, body }).repeat(5_000))
      await until(target)
      return undefined
    },
  },
  {
    name: 'half-requests',
    does: '2,000 sockets send half a request, and a byte a second',
    run: async (target) => {
      const sockets = await Promise.all(range(2_000).map(() => rawSocket(target)))
      for (const socket of sockets) socket.write('POST /v1/acquire HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ')
      while (!target.signal.aborted) {
        for (const socket of sockets) if (socket.writable) socket.write('a')
        await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
      return undefined
    },
  },
  {
    name: 'idle-connections',
    does: '5,000 sockets that say nothing',
    run: async (target) => {
      for (const _ of range(50)) await Promise.all(range(100).map(() => rawSocket(target)))
      await until(target)
      return undefined
    },
  },
  {
    name: 'connections-come-and-go',
    does: 'connections are opened and reset as fast as it goes',
    run: async (target) => {
      await flood(target, { lanes: 32, one: async () => (await rawSocket(target)).resetAndDestroy() })
      return undefined
    },
  },
  {
    name: 'large-headers',
    does: 'headers of 15 KiB each, pipelined',
    run: async (target) => {
      const text = httpText('GET', '/healthz', { headers: { 'X-Large': 'x'.repeat(15_000) } })
      await flood(target, { lanes: 16, one: () => answered(target, text.repeat(8)) })
      return undefined
    },
  },
  {
    name: 'large-bodies',
    does: 'bodies of 64 KiB that are no request, as fast as they are taken',
    run: async (target) => {
      const body = JSON.stringify({ operation: 'lock', resource: 'x'.repeat(65_000) })
      await flood(target, { lanes: 16, one: () => ask(target, '/v1/acquire', { body }) })
      return undefined
    },
  },
  {
    name: 'deep-json',
    does: 'JSON that is nested 30,000 levels deep',
    run: async (target) => {
      const body = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
      await flood(target, { lanes: 16, one: () => ask(target, '/v1/batch', { body: `{"requests":${body}}` }) })
      return undefined
    },
  },
  {
    name: 'many-fields',
    does: 'objects of 8,000 fields that no request has',
    run: async (target) => {
      const body = JSON.stringify(Object.fromEntries(range(4_000).map((field) => [`f${field}`, field])))
      await flood(target, { lanes: 16, one: () => ask(target, '/v1/acquire', { body }) })
      return undefined
    },
  },
  {
    name: 'wrong-tokens',
    does: 'wrong tokens as fast as they are answered',
    run: async (target) => {
      await flood(target, {
        lanes: 64,
        one: (count) => ask(target, '/v1/acquire', { body: {}, token: `wrong-${count}` }),
      })
      return undefined
    },
  },
  {
    name: 'unknown-paths',
    does: 'paths that do not exist, of 8 KiB each',
    run: async (target) => {
      await flood(target, {
        lanes: 32,
        one: (count) => ask(target, `/${'p'.repeat(8_000)}${count}`, { method: 'GET' }),
      })
      return undefined
    },
  },
]

/** So many locks that stay. */
export async function holdMany(target: Parameters<NonNullable<Attack['prepare']>>[0], count: number): Promise<void> {
  const asked = (index: number) => ({
    type: 'acquire',
    operation: 'lock',
    resource: `held-${index}`,
    node: 'attacker',
    owner: 'o',
    hold: 'h',
    ttlMs: 600_000,
  })
  for (let from = 0; from < count; from += 200)
    await ask(target, '/v1/batch', { body: { requests: range(200).map((index) => asked(from + index)) } })
}

/** Sends a text on a socket of its own and reads until it is closed, or for a while. */
async function answered(target: Parameters<Attack['run']>[0], text: string): Promise<void> {
  const socket = await rawSocket(target)
  socket.resume()
  socket.end(text)
  await Promise.race([
    new Promise((resolve) => socket.once('close', resolve)),
    new Promise((resolve) => setTimeout(resolve, 1_000)),
  ])
  socket.destroy()
}
