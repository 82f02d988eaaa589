// Dashboards without a browser: the model of the page, over real WebSockets and in real time.
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import WebSocket from 'ws'

const { url, model } = JSON.parse(process.argv[2])
const { Dashboard } = await import(model)
const SHOWN = 30
const SETTLE_MS = 3_000

const timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
  monoMs: () => performance.now(),
  random: () => Math.random(),
}

const sockets = new Set()

function dial({ onText, onClose }) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, ['baton.v1'])
  sockets.add(socket)
  socket.on('message', (data) => onText(String(data)))
  socket.on('close', () => onClose())
  socket.on('error', () => {})
  return { send: (text) => socket.send(text), close: () => socket.terminate() }
}

const who = async () => (await fetch(`${url}/v1/who`)).json()
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
let open = []

const requests = {
  async open({ count, rows }) {
    open = Array.from({ length: count }, () => new Dashboard({ timers, dial, who }))
    for (const each of open) each.start()
    const isRead = ({ rows: read, listing }) => read.size >= rows && listing.loading.value.state === 'all'
    while (!open.every(isRead)) await pause(50)
    // The top of the page shows the resources that the callers work on.
    for (const each of open) each.refresher.show(each.selection.value.names.slice(0, SHOWN))
    // The garbage of reading everything is not a cost of open dashboards.
    await pause(SETTLE_MS)
    return { rows: open[0].rows.size }
  },
  async close() {
    for (const each of open) each.stop()
    open = []
    return {}
  },
}

const input = createInterface({ input: process.stdin })
input.on('close', () => process.exit(0))
input.on('line', async (line) => {
  const { type, ...request } = JSON.parse(line)
  say({ done: type, ...(await requests[type](request)) })
})
say({ ready: true })
