// A minimal lock over HTTP in Node: node:http, a Map, and the JSON of the classic paths. No leases, no checks.
import { createServer } from 'node:http'

const holders = new Map()

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (text) => (body += text))
  request.on('end', () => {
    const { type, resource_id, node_id } = JSON.parse(body)
    const key = `${type} ${resource_id}`
    const isFree = !holders.has(key)
    if (isFree) holders.set(key, node_id)
    const answer = JSON.stringify({
      acquired: isFree,
      skip: false,
      message: isFree ? 'acquired' : 'queued at position 1',
    })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', 4_096, () => console.log(`port ${server.address().port}`))
