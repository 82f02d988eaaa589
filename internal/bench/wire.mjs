// The traffic between a client of the SDK and a server, counted by a proxy: bytes and chunks of a cycle (a lock and its release) and of
// a hand-over. Counts do not depend on the speed of the machine.
import { createServer, connect as dial } from 'node:net'
import { connect } from 'baton-lock'
import { startBaton } from './lib/servers.mjs'

const TIMES = Number(process.env.BENCH_TIMES ?? 2_000)

const server = await startBaton()
const { hostname, port } = new URL(server.url)
const count = { inBytes: 0, outBytes: 0, inChunks: 0, outChunks: 0 }
const proxy = createServer((socket) => {
  const onward = dial(Number(port), hostname)
  socket.on('data', (bytes) => {
    count.inBytes += bytes.length
    count.inChunks++
  })
  onward.on('data', (bytes) => {
    count.outBytes += bytes.length
    count.outChunks++
  })
  socket.pipe(onward).pipe(socket)
  for (const each of [socket, onward]) each.on('error', () => {})
})
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${proxy.address().port}`
const clients = await Promise.all(['node-a', 'node-b'].map((node) => connect(url, { node, ttlMs: 3_600_000 })))
let key = 0

async function print(what, work) {
  const before = { ...count }
  await work()
  const each = (name) => ((count[name] - before[name]) / TIMES).toFixed(name.endsWith('Bytes') ? 0 : 2)
  console.log(
    `${what}: ${each('inBytes')} bytes in ${each('inChunks')} chunks to the server, ${each('outBytes')} in ${each('outChunks')} from it`,
  )
}

async function cycles(callers) {
  let left = TIMES
  const caller = async () => {
    while (left-- > 0) await (await clients[0].lock(`key-${key++}`)).release()
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

async function handOvers() {
  let held = await clients[0].lock('one')
  for (let turn = 1; turn <= TIMES; turn++) {
    let next
    await new Promise((onQueued) => {
      next = clients[turn % 2].lock('one', { onQueued })
    })
    await held.release()
    held = await next
  }
  await held.release()
}

await cycles(1)
for (const callers of [1, 32, 256]) await print(`a cycle, ${callers} callers`, () => cycles(callers))
await print('a hand-over between two clients', handOvers)
await Promise.all(clients.map((client) => client.close()))
await server.stop('SIGTERM')
proxy.close()
process.exit(0)
