// A process that a benchmark talks to by lines of JSON.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Resolves once the process has reported that it is ready. `say` sends it a line. `hear` waits for its first line that matches, and
 * rejects if it ends before that. Flags of Node go before the program: `startProcess(['--expose-gc', program])`.
 */
export async function startProcess(program, ...args) {
  const child = spawn(process.execPath, [program, args].flat(), { stdio: ['pipe', 'pipe', 'inherit'] })
  const onExit = () => child.kill('SIGKILL')
  process.on('exit', onExit)
  const lines = []
  const waiting = new Set()
  let ended
  const lookAgain = () => {
    for (const look of waiting) look()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line))
    lookAgain()
  })
  child.on('exit', (code, signal) => {
    ended = new Error(`${[program, args].flat().join(' ')} ended with ${code ?? signal}`)
    process.off('exit', onExit)
    lookAgain()
  })
  // A process that has ended does not read its input.
  child.stdin.on('error', () => {})
  const hear = (isIt) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const index = lines.findIndex(isIt)
        if (index < 0 && !ended) return
        waiting.delete(look)
        if (index < 0) reject(ended)
        else resolve(lines.splice(index, 1)[0])
      }
      waiting.add(look)
      look()
    })
  const kill = async () => {
    if (ended) return
    const over = once(child, 'exit')
    child.kill('SIGKILL')
    await over
  }
  /** Closes its input, so that it exits by itself. */
  const end = async () => {
    if (ended) return
    const over = once(child, 'exit')
    child.stdin.end()
    await over
  }
  await hear(({ ready }) => ready)
  return { hear, kill, end, pid: child.pid, say: (what) => child.stdin.write(`${JSON.stringify(what)}\n`) }
}
