import type { Socket } from 'node:net'
import type { Method } from './call.ts'
import { ConnectionError, ERROR, FLAG, FRAME, type Frame, INITIAL_WINDOW, StreamError } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import { FrameWriter } from './frame-writer.ts'
import { HeaderBlocks } from './header-blocks.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { STREAM_WINDOW } from './inbound.ts'
import { clientSettings, SETTING } from './settings.ts'
import { STREAMS_MAX, Streams } from './streams.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
/**
 * A stream that is not read is stopped by its own window. That of the connection is replenished as data comes, so that it holds
 * up no other.
 */
const CONNECTION_WINDOW = 16 * 1024 * 1024
const HEADER_LIST_BYTES = 64 * 1024
/** What every connection begins with (RFC 9113, section 6.5.2); nothing else is said of it here. */
const HEADER_TABLE_BYTES = 4_096
/** A client that does not read is not read from either, when this much waits for it. */
const UNREAD_MAX_BYTES = 1024 * 1024

/** Of the sentence that goes with the end of a connection, for whoever debugs a client. */
const WHY_MAX = 200

/** One client: frames in, frames out. Whatever it sends, the worst that happens is the end of its connection. */
export class Connection {
  readonly #socket: Socket
  readonly #writer: FrameWriter
  readonly #streams: Streams
  readonly #reader = new FrameReader((frame) => this.#onFrame(frame))
  readonly #blocks = new HeaderBlocks()
  readonly #decoder = new HpackDecoder({ tableBytes: HEADER_TABLE_BYTES, listBytes: HEADER_LIST_BYTES })
  #prefaceBytes = 0
  #hasSettings = false
  /** Received, and not given back to the window of the connection. */
  #owed = 0
  #isClosed = false

  constructor(socket: Socket, methods: ReadonlyMap<string, Method>) {
    this.#socket = socket
    this.#writer = new FrameWriter(socket)
    this.#streams = new Streams({ methods, writer: this.#writer })
    socket.on('data', (chunk: Buffer) => this.#turn(() => this.#onBytes(chunk)))
    socket.on('drain', () => this.#turn(() => this.#onDrain()))
    socket.on('close', () => this.#end())
    // It is followed by 'close', and there is nobody left to tell.
    socket.on('error', () => {})
    this.#greet()
  }

  /** Says that it is over, and ends it, with all of its calls. */
  close(): void {
    this.#leave(ERROR.none, '')
  }

  #greet(): void {
    this.#writer.settings([
      [SETTING.maxConcurrentStreams, STREAMS_MAX],
      [SETTING.initialWindowSize, STREAM_WINDOW],
      [SETTING.maxHeaderListSize, HEADER_LIST_BYTES],
    ])
    this.#writer.windowUpdate({ streamId: 0, bytes: CONNECTION_WINDOW - INITIAL_WINDOW })
  }

  /** What is sent in the course of it goes out at its end, at once. */
  #turn(work: () => void): void {
    if (this.#isClosed) return
    this.#writer.hold()
    try {
      work()
    } catch (error) {
      const code = error instanceof ConnectionError ? error.code : ERROR.internal
      this.#leave(code, String((error as Error)?.message).slice(0, WHY_MAX))
    }
    this.#writer.release()
    if (this.#socket.writableLength > UNREAD_MAX_BYTES) this.#socket.pause()
  }

  #onDrain(): void {
    this.#streams.flow.resume()
    if (this.#socket.isPaused()) this.#socket.resume()
  }

  #onBytes(chunk: Buffer): void {
    this.#reader.read(this.#prefaceBytes === PREFACE.length ? chunk : this.#withoutPreface(chunk))
  }

  #withoutPreface(chunk: Buffer): Buffer {
    const start = this.#prefaceBytes
    const end = Math.min(chunk.length, PREFACE.length - start)
    if (PREFACE.compare(chunk, 0, end, start, start + end) !== 0) throw violation('a preface that is not of HTTP/2')
    this.#prefaceBytes += end
    return chunk.subarray(end)
  }

  #onFrame(frame: Frame): void {
    // A handler may have closed the server in the same turn.
    if (this.#isClosed) return
    if (!this.#hasSettings && frame.type !== FRAME.settings)
      throw violation('a client that does not begin with settings')
    if (this.#blocks.isWithin && frame.type !== FRAME.continuation) throw violation('a frame amid headers')
    try {
      this.#dispatch(frame)
    } catch (error) {
      if (!(error instanceof StreamError)) throw error
      this.#streams.fail(error)
    }
  }

  #dispatch(frame: Frame): void {
    switch (frame.type) {
      case FRAME.data:
        this.#onData(frame)
        break
      case FRAME.headers:
      case FRAME.continuation:
        this.#onHeaders(frame)
        break
      case FRAME.windowUpdate:
        this.#onWindowUpdate(frame)
        break
      case FRAME.ping:
        this.#onPing(frame)
        break
      case FRAME.settings:
        this.#onSettings(frame)
        break
      case FRAME.rstStream:
        sized(frame, 4)
        this.#streams.reset(ofStream(frame))
        break
      case FRAME.priority:
        onPriority(frame)
        break
      case FRAME.pushPromise:
        throw violation('a push of a client')
      case FRAME.goaway:
        // The client opens no more streams; those that are open go on.
        ofConnection(frame)
        break
    }
  }

  #onData(frame: Frame): void {
    ofStream(frame)
    this.#owed += frame.payload.length
    if (this.#owed >= CONNECTION_WINDOW / 2) {
      this.#writer.windowUpdate({ streamId: 0, bytes: this.#owed })
      this.#owed = 0
    }
    this.#streams.data(frame)
  }

  #onHeaders(frame: Frame): void {
    ofStream(frame)
    const block = this.#blocks.read(frame)
    if (!block) return
    const { streamId, bytes, isLast } = block
    this.#streams.headers({ streamId, fields: this.#decoder.decode(bytes), isLast })
  }

  #onWindowUpdate(frame: Frame): void {
    sized(frame, 4)
    const { streamId, payload } = frame
    const bytes = payload.readUInt32BE(0) & 0x7fffffff
    if (bytes === 0 && streamId === 0) throw violation('a window that is not widened')
    if (bytes === 0) throw new StreamError({ streamId, code: ERROR.protocol, message: 'a window that is not widened' })
    if (streamId === 0) this.#streams.flow.widen(bytes)
    else this.#streams.widen(streamId, bytes)
  }

  #onPing(frame: Frame): void {
    ofConnection(frame)
    sized(frame, 8)
    if ((frame.flags & FLAG.ack) === 0) this.#writer.pingAck(frame.payload)
  }

  #onSettings(frame: Frame): void {
    ofConnection(frame)
    this.#hasSettings = true
    if (frame.flags & FLAG.ack) return void sized(frame, 0)
    const { headerTableSize, initialWindowSize } = clientSettings(frame.payload)
    if (headerTableSize !== undefined && headerTableSize < HEADER_TABLE_BYTES) this.#writer.oweEmptyTable()
    this.#writer.settingsAck()
    if (initialWindowSize !== undefined) this.#streams.resizeAll(initialWindowSize)
  }

  #leave(code: number, why: string): void {
    if (this.#isClosed) return
    this.#writer.goaway({ lastStreamId: this.#streams.lastId, code, why })
    this.#writer.release()
    this.#end()
    this.#socket.destroy()
  }

  #end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#streams.cancelAll()
  }
}

function onPriority(frame: Frame): void {
  const streamId = ofStream(frame)
  if (frame.payload.length === 5) return
  throw new StreamError({ streamId, code: ERROR.frameSize, message: 'a priority of another size' })
}

function ofStream({ streamId }: Frame): number {
  if (streamId === 0) throw violation('a frame of a stream without one')
  return streamId
}

function ofConnection({ streamId }: Frame): void {
  if (streamId !== 0) throw violation('a frame of the connection on a stream')
}

function sized({ payload }: Frame, bytes: number): void {
  if (payload.length !== bytes)
    throw new ConnectionError(ERROR.frameSize, `${payload.length} bytes instead of ${bytes}`)
}

function violation(what: string): ConnectionError {
  return new ConnectionError(ERROR.protocol, what)
}
