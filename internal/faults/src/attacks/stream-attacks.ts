import type { Socket } from 'node:net'
import WebSocket from 'ws'
import type { Attack, Target } from './attack.ts'
import { queueMany } from './read-attacks.ts'
import { ask, deafSocket, flood, httpText, range, rawSocket, until } from './request.ts'

/** Attacks by streams, of events and of WebSockets: what is told, and not read; and frames that ask for too much. */
export const streamAttacks: readonly Attack[] = [
  {
    name: 'deaf-streams',
    does: '3,000 event streams that are never read, and progress of 4 KiB',
    prepare: async (target) => {
      for (const _ of range(30)) await Promise.all(range(100).map(() => deafStream(target)))
    },
    run: async (target) => {
      const progress = await talkative(target)
      await flood(target, { lanes: 4, one: progress })
      return undefined
    },
  },
  {
    name: 'deaf-web-sockets',
    does: '500 WebSockets that listen to everything and are never read, and progress of 4 KiB',
    prepare: async (target) => {
      for (const _ of range(10)) await Promise.all(range(50).map(() => deafWebSocket(target, LISTEN_TO_ALL)))
    },
    run: async (target) => {
      const progress = await talkative(target)
      await flood(target, { lanes: 4, one: progress })
      return undefined
    },
  },
  {
    name: 'unread-answers',
    does: '50 WebSockets ask for a long queue over and over and read no answer',
    prepare: (target) => queueMany(target, 'long-queue', 5_000),
    run: async (target) => {
      const requests = range(500).map(() => ({ type: 'get-resource', resource: 'long-queue' }))
      for (const _ of range(50))
        await deafWebSocket(target, ...range(20).map((frame) => ({ from: 1 + frame * 500, requests })))
      await until(target)
      return undefined
    },
  },
  {
    name: 'full-frames',
    does: 'frames of 1,000 reads each, one after another',
    prepare: (target) => queueMany(target, 'long-queue', 5_000),
    run: async (target) => {
      await Promise.all(
        range(4).map(() => askInFrames(target, () => ({ type: 'get-resource', resource: 'long-queue' }))),
      )
      return undefined
    },
  },
  {
    name: 'full-frames-of-steps',
    does: 'frames of 1,000 asks and releases each, one after another',
    run: async (target) => {
      const place = { operation: 'lock', node: 'attacker', owner: 'o', hold: 'h' }
      await Promise.all(
        range(2).map((socket) =>
          askInFrames(target, (number) => ({
            type: 'acquire',
            ...place,
            resource: `${socket}-${number % 5_000}`,
            ttlMs: 1_000,
          })),
        ),
      )
      return undefined
    },
  },
  {
    name: 'many-listens',
    does: '1,000 listens to everything on each of ten WebSockets, and progress',
    run: async (target) => {
      const listen = range(900).map((id) => ({ id: id + 1, scope: { of: 'all' } }))
      for (const _ of range(10)) (await openWebSocket(target))?.send(JSON.stringify({ listen }))
      const progress = await talkative(target)
      await flood(target, { lanes: 2, one: progress })
      return undefined
    },
  },
  {
    name: 'endless-message',
    does: 'WebSocket messages that are continued for ever',
    run: async (target) => {
      await flood(target, { lanes: 20, one: () => endlessMessage(target) })
      return undefined
    },
  },
  {
    name: 'pings',
    does: 'WebSocket pings as fast as they go, answers unread',
    run: async (target) => {
      const ping = Buffer.concat(
        range(200).map(() => Buffer.from([0x89, 0xfd, 0, 0, 0, 0, ...new Array(125).fill(65)])),
      )
      for (const _ of range(20)) {
        const socket = await upgraded(target)
        const write = () => {
          while (socket.writable && socket.write(ping));
        }
        socket.on('drain', write)
        write()
      }
      await until(target)
      return undefined
    },
  },
  {
    name: 'broken-frames',
    does: 'WebSockets that break the rules at once, over and over',
    run: async (target) => {
      await flood(target, {
        lanes: 32,
        one: async (count) => {
          const socket = await openWebSocket(target)
          socket?.send(['{', '[]', '{"from":0,"requests":[{}]}', '{"listen":[{}]}', '\u0000'][count % 5]!)
          await new Promise((resolve) => (socket ? socket.once('close', resolve) : resolve(undefined)))
        },
      })
      return undefined
    },
  },
  {
    name: 'streams-come-and-go',
    does: 'event streams are opened and left as fast as it goes',
    run: async (target) => {
      await flood(target, {
        lanes: 32,
        one: async () => {
          const socket = await rawSocket(target)
          socket.write(httpText('GET', '/v1/events', { token: target.tokens.observe }))
          await answered(socket)
          socket.destroy()
        },
      })
      return undefined
    },
  },
]

const LISTEN_TO_ALL = { listen: [{ id: 1, scope: { of: 'all' } }] }

async function deafStream(target: Target): Promise<void> {
  const socket = await deafSocket(target)
  socket.write(httpText('GET', '/v1/events', { token: target.tokens.observe }))
}

/** Says how far something is, 4 KiB each time. */
async function talkative(target: Target): Promise<(count: number) => Promise<unknown>> {
  const place = { operation: 'lock', resource: 'talkative', node: 'attacker', owner: 'o' }
  const reply = await ask(target, '/v1/acquire', { body: { ...place, hold: 'h', ttlMs: 600_000 } })
  const fence = reply?.body.fence
  return (count) => ask(target, '/v1/progress', { body: { ...place, fence, progress: `${count}${'p'.repeat(4_000)}` } })
}

function openWebSocket({ port, tokens, signal }: Target, token = tokens.node): Promise<WebSocket | undefined> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, { headers: { authorization: `Bearer ${token}` } })
  signal.addEventListener('abort', () => socket.terminate(), { once: true })
  return new Promise((resolve) => {
    socket.on('error', () => resolve(undefined))
    socket.on('close', () => resolve(undefined))
    socket.on('open', () => resolve(socket))
  })
}

/** One that sends these and reads nothing. */
async function deafWebSocket(target: Target, ...frames: readonly object[]): Promise<void> {
  const socket = await openWebSocket(target)
  socket?.pause()
  for (const frame of frames) socket?.send(JSON.stringify(frame))
}

/** Full frames, the next one when the one before it was answered. */
async function askInFrames(target: Target, request: (number: number) => object): Promise<void> {
  let from = 1
  while (!target.signal.aborted) {
    const socket = await openWebSocket(target)
    if (!socket) continue
    const next = () => {
      const first = from
      from += 1_000
      socket.send(JSON.stringify({ from: first, requests: range(1_000).map((index) => request(first + index)) }))
    }
    let answered = 0
    socket.on('message', (data) => {
      const { replies } = JSON.parse(String(data)) as { replies?: unknown[] }
      answered += replies?.length ?? 0
      if (answered < 1_000) return
      answered = 0
      next()
    })
    from = 1
    next()
    await new Promise((resolve) => socket.once('close', resolve))
  }
}

/** A socket on which the upgrade was made, to be written to by hand. */
async function upgraded(target: Target) {
  const socket = await rawSocket(target)
  const headers = {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  socket.write(httpText('GET', '/v1/stream', { token: target.tokens.node, headers }))
  await answered(socket)
  socket.pause()
  return socket
}

/** Something came, or it is closed. */
async function answered(socket: Socket): Promise<void> {
  if (!socket.destroyed) await new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
}

async function endlessMessage(target: Target): Promise<void> {
  const socket = await upgraded(target)
  const part = (first: boolean) =>
    Buffer.concat([Buffer.from([first ? 0x01 : 0x00, 0xfe, 0xff, 0xff, 0, 0, 0, 0]), Buffer.alloc(0xffff, 'x')])
  let isFirst = true
  while (socket.writable && !target.signal.aborted) {
    const took = socket.write(part(isFirst))
    isFirst = false
    if (!took && !socket.destroyed) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve))
  }
  socket.destroy()
}
