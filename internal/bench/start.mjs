// The time until a server is ready, and the time that `baton run` and `baton lock` add to the command that they run.
import { spawnSync } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { build } from './lib/build.mjs'
import { inTurn } from './lib/rounds.mjs'
import { startBaton } from './lib/servers.mjs'
import { absolute, median } from './lib/statistics.mjs'

export const title = 'Starting: a server until it is ready, and commands beside those that they run'

export async function measure({ rounds = 15 }) {
  const server = await startBaton()
  const env = { ...process.env, BATON_SERVER: server.url }
  const timed = (file, ...args) => {
    return () => {
      const startMs = performance.now()
      const { status } = spawnSync(file, args, { env, stdio: 'ignore' })
      if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`)
      return performance.now() - startMs
    }
  }
  const { main } = build
  try {
    const times = await inTurn({
      what: 'start',
      rounds,
      subjects: {
        'the command alone (true)': timed('true'),
        'node alone': timed(process.execPath, '-e', '0'),
        'baton lock': timed(process.execPath, main, 'lock', 'bench', '--', 'true'),
        'baton run': timed(process.execPath, main, 'run', 'lock', 'bench', '--', 'true'),
        'baton serve': untilReady,
      },
    })
    const bare = times['the command alone (true)']
    const more = (name) => times[name].map((ms, round) => ms - bare[round])
    const figures = { 'node alone': median(more('node alone')) }
    const row = (what, mine, most) => absolute({ what, unit: 'ms', mine, figures, wanted: { most } })
    return {
      rows: [
        row('baton serve, from start to ready', times['baton serve'], 400),
        row('baton run, beside the bare command', more('baton run'), 250),
        row('baton lock, beside the bare command', more('baton lock'), 250),
      ],
      notes: ['node alone: `node -e 0`, beside the bare command (true)'],
    }
  } finally {
    await server.stop()
  }
}

async function untilReady() {
  const startMs = performance.now()
  const server = await startBaton()
  const ms = performance.now() - startMs
  await server.stop()
  return ms
}
