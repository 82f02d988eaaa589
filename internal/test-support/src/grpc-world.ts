import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientClock, onAbort, systemClientClock } from '@baton-lock/client/clock'
import type { Method } from '@baton-lock/containerd/grpc/call'
import { createGrpcServer, type GrpcServer } from '@baton-lock/containerd/grpc/server'
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
} from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { FLAG, FRAME, type Frame, frame, framesIn, PREFACE } from './grpc-frames.ts'

/** Real time, ten times as fast: a dead connection is noticed within a second and a half. */
export function quickClock(): ClientClock {
  const clock = systemClientClock()
  return { ...clock, after: (delayMs, callback) => clock.after(delayMs / 10, callback) }
}

/** A server on a socket of its own. Goes with the test. */
export async function grpcServer(
  methods: Readonly<Record<string, Method>>,
  clock = systemClientClock(),
): Promise<{ path: string; server: GrpcServer }> {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-'))
  const path = join(folder, 's.sock')
  const server = createGrpcServer({ methods: new Map(Object.entries(methods)), clock })
  await server.listen(path)
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })
  return { path, server }
}

/** What @grpc/grpc-js makes of it. */
export function grpcClient(path: string, options: ChannelOptions = {}): Client {
  const client = new Client(`unix:${path}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    ...options,
  })
  onTestFinished(() => client.close())
  return client
}

export const asIs = (bytes: Buffer): Buffer => bytes

/** A client that says what it likes, and writes down what it hears. While it reads, it answers pings. */
export class RawPeer {
  readonly heard: Frame[] = []
  readonly closed: Promise<void>
  readonly #socket: Socket
  #onHeard = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    let received: Buffer = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      const { frames, left } = framesIn(Buffer.concat([received, chunk]))
      received = left
      this.heard.push(...frames)
      for (const { type, flags, payload } of frames) {
        if (type === FRAME.ping && !(flags & FLAG.ack)) this.write(frame(FRAME.ping, { flags: FLAG.ack, payload }))
      }
      this.#onHeard()
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        resolve()
        this.#onHeard()
      })
    })
  }

  static async connect(path: string): Promise<RawPeer> {
    const socket = connect(path)
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    onTestFinished(() => void socket.destroy())
    return new RawPeer(socket)
  }

  /** One that has said its preface and its settings, and acknowledges those of the server. */
  static async greeted(path: string, settings: Buffer = Buffer.alloc(0)): Promise<RawPeer> {
    const peer = await RawPeer.connect(path)
    peer.write(PREFACE, frame(FRAME.settings, { payload: settings }), frame(FRAME.settings, { flags: FLAG.ack }))
    return peer
  }

  write(...bytes: readonly Buffer[]): void {
    if (!this.#socket.destroyed) this.#socket.write(Buffer.concat(bytes))
  }

  /** What it has written and the server has not read. */
  get unsentBytes(): number {
    return this.#socket.writableLength
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** It has nothing more to say. */
  end(): void {
    this.#socket.end()
  }

  /** The first frame that is as wanted, when it is there; undefined where the connection ends without one. */
  async first(isWanted: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.heard.find(isWanted)
      if (found || this.#socket.destroyed) return found
      await new Promise<void>((resolve) => {
        this.#onHeard = resolve
      })
    }
  }

  /** Resolves when all that was written before it has been handled. */
  async pinged(mark: number): Promise<boolean> {
    const payload = Buffer.alloc(8, mark)
    this.write(frame(FRAME.ping, { payload }))
    return (await this.first(({ type, payload: echo }) => type === FRAME.ping && echo.equals(payload))) !== undefined
  }
}

/** A promise, and how to resolve it from elsewhere. */
export function promised<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Answers with what it was asked. */
export const echo: Method = async (call) => call.send(await call.request())

/** Neither reads nor answers, until it is cancelled. */
export const silent: Method = (call) => new Promise((_, reject) => onAbort(call.signal, reject))

/** Sends every message back. */
export const chat: Method = async (call) => {
  for await (const each of call.messages()) await call.send(each)
}

/** As many bytes as the request says, in messages of 64 KiB. */
export const pour: Method = async (call) => {
  const total = (await call.request()).readUInt32BE()
  for (let sent = 0; sent < total; sent += 65_536) await call.send(Buffer.alloc(65_536, sent / 65_536))
}

export function unary(client: Client, path: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, asIs, asIs, request, (error, reply) => (error ? reject(error) : resolve(reply!)))
  })
}

/** The method says what of the request it takes for a number of bytes. */
export const pouring = (client: Client, bytes: number): ClientReadableStream<Buffer> => {
  const request = Buffer.alloc(4)
  request.writeUInt32BE(bytes)
  return client.makeServerStreamRequest('/t/Pour', asIs, asIs, request)
}

export const chatting = (client: Client): ClientDuplexStream<Buffer, Buffer> =>
  client.makeBidiStreamRequest('/t/Chat', asIs, asIs)

export async function sizeOf(messages: AsyncIterable<Buffer>): Promise<number> {
  let size = 0
  for await (const each of messages) size += each.length
  return size
}
