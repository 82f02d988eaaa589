import { fileURLToPath } from 'node:url'
import { build as ownBuild } from './build.mjs'
import { startProcess } from './child-process.mjs'

const program = fileURLToPath(new URL('../load-process.mjs', import.meta.url))

/**
 * A process that takes and releases locks, as one of `subjects.mjs`, at a URL. `run` resolves with the cycles per second and the
 * quantiles of their durations.
 */
export async function startLoad({ kind, url, build = ownBuild, nodeArgs = [] }) {
  const child = await startProcess([...nodeArgs, program], JSON.stringify({ kind, url, build }))
  let count = 0
  const call = async (request) => {
    const id = ++count
    child.say({ id, ...request })
    const { error, ...answer } = await child.hear((line) => line.id === id)
    if (error) throw new Error(`${kind}: ${error}`)
    return answer
  }
  return {
    run: ({ callers, seconds }) => call({ type: 'run', callers, seconds }),
    /** Takes that many locks and keeps them. */
    hold: ({ count: locks, prefix }) => call({ type: 'hold', locks, prefix }),
    /** Adds that many waiters to the queues of keys that are held. */
    wait: ({ count: waiters, prefix, keys }) => call({ type: 'wait', waiters, prefix, keys }),
    pid: child.pid,
    stop: () => child.kill(),
    /** Lets the process exit by itself, so that it writes its profile. */
    end: () => child.end(),
  }
}
