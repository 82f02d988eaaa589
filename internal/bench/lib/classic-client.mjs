import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * POST /lock and POST /unlock over raw sockets, one for each cycle under way: an HTTP client would need more processor
 * time than the server that is measured.
 */
export function classicClient(url) {
  const { hostname, port } = new URL(url)
  const idle = new Set()

  async function open() {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }).setEncoding('latin1')
    await once(socket, 'connect')
    // The server may close an idle connection.
    return socket.on('error', () => {}).on('close', () => idle.delete(socket))
  }

  return {
    async cycle(key) {
      const [kept] = idle
      idle.delete(kept)
      const socket = kept ?? (await open())
      const body = JSON.stringify({ type: 'lock', resource_id: key, node_id: 'node-a' })
      await post(socket, { path: '/lock', body, expected: '"acquired":true' })
      await post(socket, { path: '/unlock', body, expected: '"released":true' })
      idle.add(socket)
    },
  }
}

/** Rejects unless the answer is 200 and its body contains `expected`. */
function post(socket, { path, body, expected }) {
  return new Promise((resolve, reject) => {
    let received = ''
    const settle = (error) => {
      socket.off('data', onData).off('error', settle).off('close', onClose)
      if (error) reject(error)
      else resolve()
    }
    const onClose = () => settle(new Error(`the server closed the connection during ${path}`))
    const onData = (text) => {
      received += text
      const head = received.indexOf('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(received)
      if (head < 0 || !length || received.length < head + 4 + Number(length[1])) return
      const isExpected = received.startsWith('HTTP/1.1 200') && received.includes(expected)
      settle(isExpected ? undefined : new Error(`${path} ${body}: ${received}`))
    }
    socket.on('data', onData).on('error', settle).on('close', onClose)
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
  })
}
