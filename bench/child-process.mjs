// A process that a benchmark talks to by lines of JSON. Not a benchmark itself.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** Resolves once it has said that it is ready. `say` sends it a line, `hear` waits for the first line of its own that fits. */
export async function startProcess(program, ...args) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = []
  const waiting = new Set()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line))
    for (const look of waiting) look()
  })
  const hear = (isIt) =>
    new Promise((resolve) => {
      const look = () => {
        const index = lines.findIndex(isIt)
        if (index < 0) return
        waiting.delete(look)
        resolve(lines.splice(index, 1)[0])
      }
      waiting.add(look)
      look()
    })
  const kill = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await hear(({ ready }) => ready)
  return { hear, say: (what) => child.stdin.write(`${JSON.stringify(what)}\n`), kill }
}
