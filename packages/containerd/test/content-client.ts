import { Client, type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { contentService } from '../src/grpc/proto.ts'

const STAT = 0
const WRITE = 1
const COMMIT = 2
const CALL_MS = 20_000
const MESSAGE_MAX = 16 << 20

interface Written {
  readonly offset: number
  readonly total: number
  readonly digest: string
}

interface IngestStatus {
  readonly ref: string
  readonly offset: number
  readonly total: number
}

/** The content service as containerd calls it, without containerd. An error has the name of its code, like `NOT_FOUND`. */
export class ContentClient {
  readonly #client: Client

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': MESSAGE_MAX,
      'grpc.max_send_message_length': MESSAGE_MAX,
      // A store that was restarted is found again at once.
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 100,
    })
  }

  async info(digest: string): Promise<{ readonly digest: string; readonly size: number }> {
    return (await this.#unary<{ info: { digest: string; size: number } }>('Info', { digest })).info
  }

  async list(): Promise<string[]> {
    const messages = await this.#stream<{ info: { digest: string }[] }>('List', {})
    return messages.flatMap(({ info }) => info.map(({ digest }) => digest))
  }

  async read(digest: string, { offset = 0, size = 0 } = {}): Promise<Buffer> {
    const messages = await this.#stream<{ data: Uint8Array }>('Read', { digest, offset, size })
    return Buffer.concat(messages.map(({ data }) => data))
  }

  async delete(digest: string): Promise<void> {
    await this.#unary('Delete', { digest })
  }

  async abort(ref: string): Promise<void> {
    await this.#unary('Abort', { ref })
  }

  async status(ref: string): Promise<IngestStatus> {
    return (await this.#unary<{ status: IngestStatus }>('Status', { ref })).status
  }

  async statuses(): Promise<readonly IngestStatus[]> {
    return (await this.#unary<{ statuses: readonly IngestStatus[] }>('ListStatuses', {})).statuses
  }

  writer(ref: string, total: number): WireWriter {
    const { path, request, response } = contentService.Write!
    const call = this.#client.makeBidiStreamRequest(path, request.encode, (bytes) => response.decode(bytes) as never)
    return new WireWriter(call, ref, total)
  }

  /** All that containerd does for a blob: two STATs, and then what they make it do. */
  async put(ref: string, bytes: Buffer): Promise<Written> {
    const writer = this.writer(ref, bytes.length)
    await writer.stat()
    const { offset } = await writer.stat()
    if (offset < bytes.length) await writer.write(offset, bytes.subarray(offset))
    return writer.commit({ offset: bytes.length })
  }

  close(): void {
    this.#client.close()
  }

  #unary<Reply>(method: string, message: object): Promise<Reply> {
    const { path, request, response } = contentService[method]!
    const deadline = Date.now() + CALL_MS
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(path, request.encode, response.decode, message, { deadline }, (error, reply) =>
        error ? reject(named(error)) : resolve(reply as Reply),
      )
    })
  }

  #stream<Message>(method: string, message: object): Promise<Message[]> {
    const { path, request, response } = contentService[method]!
    const deadline = Date.now() + CALL_MS
    const call = this.#client.makeServerStreamRequest(path, request.encode, response.decode, message, {
      deadline,
    })
    const messages: Message[] = []
    return new Promise((resolve, reject) => {
      call.on('data', (message: Message) => messages.push(message))
      call.on('end', () => resolve(messages))
      call.on('error', (error: ServiceError) => reject(named(error)))
    })
  }
}

interface Waiting {
  resolve(response: Written): void
  reject(error: Error): void
}

/** One Write stream: each request has one answer, in their order. */
class WireWriter {
  readonly #call: ClientDuplexStream<object, Written>
  readonly #ref: string
  readonly #total: number
  #waiting: Waiting[] = []
  #failure: Error | undefined

  constructor(call: ClientDuplexStream<object, Written>, ref: string, total: number) {
    this.#call = call
    this.#ref = ref
    this.#total = total
    call.on('data', (response: Written) => this.#waiting.shift()?.resolve(response))
    call.on('error', (error: ServiceError) => this.#end(named(error)))
    call.on('end', () => this.#end(new Error('ENDED')))
  }

  stat(): Promise<Written> {
    return this.#ask({ action: STAT })
  }

  write(offset: number, data: Buffer): Promise<Written> {
    return this.#ask({ action: WRITE, offset, data })
  }

  /** As containerd does: here alone it says which digest it expects, where it does. */
  commit({ offset, expected = '' }: { offset: number; expected?: string }): Promise<Written> {
    return this.#ask({ action: COMMIT, offset, expected })
  }

  /** As a client that is killed. */
  cancel(): void {
    this.#call.cancel()
  }

  #ask(request: object): Promise<Written> {
    if (this.#failure) return Promise.reject(this.#failure)
    const asked = new Promise<Written>((resolve, reject) => this.#waiting.push({ resolve, reject }))
    // A test may await it later than it fails.
    asked.catch(() => {})
    this.#call.write({ ref: this.#ref, total: this.#total, ...request })
    return asked
  }

  #end(error: Error): void {
    this.#failure ??= error
    for (const { reject } of this.#waiting) reject(this.#failure)
    this.#waiting = []
  }
}

function named({ code, details }: ServiceError): Error {
  return new Error(`${status[code]}: ${details}`)
}
