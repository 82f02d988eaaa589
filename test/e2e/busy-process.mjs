// A server that can be kept busy: for every SIGUSR2 it works for five seconds of processor time, in one turn of its event loop.
import { startServer } from 'baton-lock/server'

const { url } = await startServer({ store: 'memory:', port: 0 })
process.stdout.write(`listening on ${url}\n`)

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
