import { fileURLToPath } from 'node:url'
import { startProcess } from './child-process.mjs'
import { dist as ownDist } from './settings.mjs'

const program = fileURLToPath(new URL('../load-process.mjs', import.meta.url))

/**
 * A process of its own that takes and gives back locks: of `baton` or of a peer, at a URL. `run` answers with the cycles a second and the
 * time of one.
 */
export async function startLoad({ kind, url, dist = ownDist, nodeArgs = [] }) {
  const child = await startProcess([...nodeArgs, program], JSON.stringify({ kind, url, dist }))
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
    /** Takes so many locks and keeps them. */
    hold: ({ count: locks, prefix }) => call({ type: 'hold', locks, prefix }),
    /** So many stand in line, spread over so many keys that are held. */
    wait: ({ count: waiters, prefix, keys }) => call({ type: 'wait', waiters, prefix, keys }),
    pid: child.pid,
    stop: () => child.kill(),
    /** Lets it end by itself, so that a profile is written. */
    end: () => child.end(),
  }
}
