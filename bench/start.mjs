// What a command costs before and after the command that it runs: beside that command alone, and beside Node alone.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'

const dist = process.env.BATON_DIST ?? new URL('../dist', import.meta.url).pathname
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15)

const server = spawn(process.execPath, [`${dist}/main.js`, 'serve', '--port', '0', '--store', 'memory:'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [line] = await once(server.stdout, 'data')
const env = { ...process.env, BATON_SERVER: /http\S+/.exec(String(line))[0] }

const commands = {
  'the command alone (true)': ['true'],
  'node alone': [process.execPath, '-e', '0'],
  'baton lock': [process.execPath, `${dist}/main.js`, 'lock', 'bench', '--', 'true'],
  'baton run': [process.execPath, `${dist}/main.js`, 'run', 'lock', 'bench', '--', 'true'],
}
const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, [file, ...args]] of Object.entries(commands)) {
    const startMs = performance.now()
    const { status } = spawnSync(file, args, { env, stdio: 'ignore' })
    if (status !== 0) throw new Error(`${name} ended with ${status}`)
    times[name].push(performance.now() - startMs)
  }
}
server.kill()

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]
const alone = median(times['the command alone (true)'])
console.log(`${ROUNDS} rounds, medians`)
for (const [name, all] of Object.entries(times))
  console.log(
    `${name.padEnd(26)} ${median(all).toFixed(0).padStart(5)} ms, ${(median(all) - alone).toFixed(0)} ms more than the command`,
  )
