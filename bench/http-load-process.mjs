// What wrk does, where there is no wrk: raw sockets, one request under way on each.
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'
import { quantile } from './lib/statistics.mjs'

const { url, connections, seconds, id } = JSON.parse(process.argv[2])
const { hostname, port } = new URL(url)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const times = []
let failed = 0
say({ ready: true })
const start = performance.now()
const end = start + seconds * 1_000
await Promise.all(Array.from({ length: connections }, (_, index) => talk(index)))
const tookSeconds = (performance.now() - start) / 1_000
say({ perSecond: times.length / tookSeconds, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), failed })

function talk(index) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let count = 0
    let sent = 0
    let received = ''
    const ask = () => {
      const body = `{"type":"pull","resource_id":"${id}-${index}-${++count}","node_id":"node-a"}`
      sent = performance.now()
      socket.write(
        `POST /lock HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
    }
    socket.setEncoding('latin1')
    socket.on('connect', ask).on('error', reject)
    socket.on('data', (text) => {
      received += text
      const head = received.indexOf('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(received)
      if (head < 0 || !length || received.length < head + 4 + Number(length[1])) return
      if (!received.startsWith('HTTP/1.1 200')) failed++
      received = ''
      const now = performance.now()
      times.push(now - sent)
      if (now < end) return ask()
      socket.destroy()
      resolve()
    })
  })
}
