import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request for a layer, as the registry saw it. `broken`: the node went away before the end. */
export interface Fetch {
  readonly layer: number
  readonly node: string
  state: 'sending' | 'complete' | 'broken'
}

const PIECES = 10
const PIECE = Buffer.alloc(1_024)

/** A stand-in for a container registry: `GET /LAYER/NODE` sends a layer, piece by piece for `fetchMs`. */
export async function startRegistry(fetchMs: number) {
  const fetches: Fetch[] = []
  const server = createServer(({ url = '' }, response) => {
    const [, layer, node = ''] = url.split('/')
    const fetch: Fetch = { layer: Number(layer), node, state: 'sending' }
    fetches.push(fetch)
    response.writeHead(200, { 'content-length': PIECES * PIECE.length })
    let left = PIECES
    const sending = setInterval(() => {
      if (--left > 0) return void response.write(PIECE)
      clearInterval(sending)
      response.end(PIECE)
    }, fetchMs / PIECES)
    response.on('close', () => {
      clearInterval(sending)
      fetch.state = response.writableFinished ? 'complete' : 'broken'
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => void server.close().closeAllConnections()
  return { url: `http://127.0.0.1:${port}`, fetches, close }
}
