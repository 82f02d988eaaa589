// A server that can be kept busy: for every SIGUSR2 it works for five seconds of processor time, in one turn of its event loop.
import { buildApp, listen, Service, systemClock } from '../../dist/server/index.js'
import { openMemoryStore } from '../../dist/stores/memory/index.js'

const clock = systemClock()
const service = new Service({ store: openMemoryStore({ clock }) })
const app = buildApp({ service })
process.stdout.write(`listening on ${await listen(app, { port: 0 })}\n`)

const usedMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
process.on('SIGUSR2', () => {
  process.stdout.write('busy\n')
  // What was said has gone out before it begins.
  setTimeout(() => {
    const untilMs = usedMs() + 5_000
    while (usedMs() < untilMs);
    process.stdout.write('idle\n')
  }, 200)
})
