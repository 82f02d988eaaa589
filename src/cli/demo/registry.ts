import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Fault, Layer } from './plan.ts'

/** One request for a layer, as the registry saw it. */
export interface Fetch {
  readonly layer: number
  readonly node: string
  /** How much of it was sent, 0 to 1. */
  share: number
  /** `gone`: the node went away before the end. */
  state: 'under way' | 'whole' | 'gone' | Fault
}

export interface Registry {
  readonly url: string
  /** Every request there ever was: the truth that the summary rests on. */
  readonly fetches: readonly Fetch[]
  close(): Promise<void>
}

const PIECES = 20
const PIECE = Buffer.alloc(1_024)

/** A pretended container registry: it serves layers slowly, fails as planned, and counts. */
export async function startRegistry(layers: readonly Layer[], onProgress: (fetch: Fetch) => void): Promise<Registry> {
  const fetches: Fetch[] = []
  const server = createServer((request, response) => {
    const asked = askedFor(request, layers)
    if (!asked) return void response.writeHead(404).end()
    const attempt = fetches.filter((fetch) => fetch.layer === asked.layer.index).length
    const fetch: Fetch = { layer: asked.layer.index, node: asked.node, share: 0, state: 'under way' }
    fetches.push(fetch)
    serveLayer(response, fetch, { layer: asked.layer, fault: asked.layer.faults[attempt], onProgress })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, fetches, close }
}

function askedFor({ url = '' }: IncomingMessage, layers: readonly Layer[]): { layer: Layer; node: string } | undefined {
  const { pathname, searchParams } = new URL(url, 'http://registry')
  const layer = layers.find(({ name }) => pathname === `/layers/${name}`)
  return layer && { layer, node: searchParams.get('node') ?? '' }
}

interface Serving {
  readonly layer: Layer
  readonly fault: Fault | undefined
  readonly onProgress: (fetch: Fetch) => void
}

function serveLayer(response: ServerResponse, fetch: Fetch, { layer, fault, onProgress }: Serving): void {
  if (fault === 'refuses') {
    fetch.state = fault
    response.writeHead(503).end()
    return
  }
  response.writeHead(200, { 'content-length': PIECES * PIECE.length })
  let sent = 0
  const pieces = setInterval(() => {
    if (fault === 'breaks' && sent > PIECES / 2) {
      fetch.state = fault
      response.destroy()
      return
    }
    response.write(PIECE)
    fetch.share = ++sent / PIECES
    if (sent === PIECES) response.end()
    onProgress(fetch)
  }, layer.fetchMs / PIECES)
  response.on('close', () => {
    clearInterval(pieces)
    if (fetch.state === 'under way') fetch.state = sent === PIECES ? 'whole' : 'gone'
  })
}
