import { connect } from 'node:net'
import type { Random } from '@baton-lock/store/conformance'

const ASK = '{"operation":"lock","resource":"raw","node":"n"}'
const HEAD = 'POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\n'
const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
/** How long a socket is listened to after its last sign of life. */
const PATIENCE_MS = 60

type Draw = (random: Random) => string | Buffer

const bytes = (random: Random, length: number) => Buffer.from(Array.from({ length }, () => random.integer(256)))

/** What no HTTP client would send. Nothing of it may change anything. */
const drawings: readonly Draw[] = [
  (random) => bytes(random, 1 + random.integer(400)),
  (random) =>
    Buffer.concat([Buffer.from('GET /'), bytes(random, 50), Buffer.from(' HTTP/1.1\r\nHost: localhost\r\n\r\n')]),
  // Bad request lines.
  (random) =>
    `${random.pick([
      'GET',
      'GET /',
      'GET / HTTP/9.9',
      'GET / HTTP/1.1 HTTP/1.1',
      'get / http/1.1',
      'GET  /  HTTP/1.1',
      'GET\t/\tHTTP/1.1',
      'FOO /lock HTTP/1.1',
      'CONNECT example.org:443 HTTP/1.1',
      'PRI * HTTP/2.0',
      'OPTIONS * HTTP/1.1',
      'GET http://other.example/v1/resources HTTP/1.1',
      'GET //lock HTTP/1.1',
      'GET /%ff%fe HTTP/1.1',
      'GET /lock/status?type=\u0000 HTTP/1.1',
      'POST /v1/acquire?x HTTP/0.9',
      '\u0000\u0000',
      '',
    ])}\r\nHost: localhost\r\n\r\n`,
  (random) => `GET /${'a'.repeat(random.pick([8_000, 20_000, 200_000]))} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  // Headers.
  () => `${HEAD.replace('Host: localhost\r\n', '')}Content-Length: 2\r\n\r\n{}`,
  (random) =>
    `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${'A: b\r\n'.repeat(random.pick([1_900, 2_100, 20_000]))}\r\n`,
  (random) =>
    `GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: ${'b'.repeat(random.pick([15_000, 17_000, 500_000]))}\r\n\r\n`,
  (random) =>
    `GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: ${random.pick(['\u0000', '\u0001', '\r', '\n', '\r\n b', '\u00ff'])}\r\n\r\n`,
  () => `GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n`,
  () =>
    `GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
  // Lengths that lie: too much is an answer and rubbish after it, too little never becomes a request.
  (random) =>
    `${HEAD}Content-Length: ${random.pick(['-1', '1e3', '0x10', '99999999999999999999', '', 'x', '5, 6'])}\r\n\r\n${ASK}`,
  () => `${HEAD}Content-Length: 4\r\nContent-Length: 5\r\n\r\n${ASK}`,
  (random) => `${HEAD}Content-Length: ${random.integer(ASK.length - 1)}\r\n\r\n${ASK}`,
  () => `${HEAD}Content-Length: ${ASK.length + 10}\r\n\r\n${ASK}`,
  () => `${HEAD}Content-Length: ${ASK.length}\r\nTransfer-Encoding: chunked\r\n\r\n${ASK}`,
  (random) =>
    `${HEAD}Transfer-Encoding: ${random.pick(['gzip', 'chunked, gzip', 'chunked, chunked', 'xchunked', 'identity'])}\r\n\r\n${ASK}`,
  // Chunks that lie.
  (random) =>
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n${random.pick([
      `${ASK}\r\n0\r\n\r\n`,
      `5\r\n${ASK}\r\n0\r\n\r\n`,
      `ffffffffffffffff\r\n${ASK}`,
      `-5\r\n${ASK}\r\n0\r\n\r\n`,
      `zz\r\n${ASK}\r\n0\r\n\r\n`,
      `${ASK.length.toString(16)}\r\n${ASK}`,
      `${ASK.length.toString(16)};${'e'.repeat(20_000)}\r\n${ASK}\r\n0\r\n\r\n`,
      '0\r\n\r\n',
      `1\r\n{\r\n0\r\n${'T: t\r\n'.repeat(5_000)}\r\n`,
    ])}`,
  (random) =>
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n${`4000\r\n${'x'.repeat(0x4000)}\r\n`.repeat(random.pick([3, 5, 40]))}`,
  // Many in one, good ones and a bad one.
  (random) => GET.repeat(1 + random.integer(60)),
  (random) => `${GET.repeat(random.integer(10))}GARBAGE\r\n\r\n${GET.repeat(3)}`,
  (random) => `${GET.repeat(2)}${HEAD}Content-Length: 1\r\n\r\n{${GET.repeat(random.integer(5))}`,
]

export interface RawAnswer {
  readonly sent: string
  readonly text: string
}

/** Sends something over a bare socket, whole, in pieces or cut off, and listens for what comes. */
export function fuzzSocket(port: number, random: Random): Promise<RawAnswer> {
  const payload = Buffer.from(random.pick(drawings)(random))
  const cut = random.chance(0.2) ? random.integer(payload.length) : payload.length
  const pieces = random.chance(0.2) ? 1 + random.integer(5) : 1
  const ending = random.pick(['wait', 'wait', 'wait', 'half-close', 'reset'] as const)
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    const over = () => {
      socket.destroy()
      resolve({ sent: payload.subarray(0, 300).toString('latin1'), text })
    }
    socket.setTimeout(PATIENCE_MS, over)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('end', over)
    socket.on('error', over)
    socket.on('connect', () => {
      const size = Math.max(1, Math.ceil(cut / pieces))
      for (let at = 0; at < cut; at += size) socket.write(payload.subarray(at, Math.min(cut, at + size)))
      if (ending === 'half-close') socket.end()
      if (ending === 'reset') setImmediate(() => socket.resetAndDestroy())
      if (ending === 'reset') setImmediate(over)
    })
  })
}

/** Connections that begin a request and never finish it. Resolves each with what came until the server closed it. */
export function openHalf(port: number, count: number): Promise<string>[] {
  const beginnings = ['', 'G', 'GET / HTTP/1.1\r\n', `${HEAD}A: `, `${HEAD}Content-Length: 100\r\n\r\n{"res`]
  return Array.from({ length: count }, (_, index) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.write(beginnings[index % beginnings.length]!)
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    return new Promise((resolve) => socket.on('close', () => resolve(text)))
  })
}
