// POST /lock over so many connections, each time for a new resource: by wrk, or by a loader of our own where that is missing.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startProcess } from './child-process.mjs'
import { PATH } from './programs.mjs'

const run = promisify(execFile)
const script = fileURLToPath(new URL('new-resources.lua', import.meta.url))
const program = fileURLToPath(new URL('../http-load-process.mjs', import.meta.url))
let runs = 0

export async function postLocks({ url, connections, seconds, withWrk }) {
  const id = `bench-${process.pid}-${++runs}`
  const answer = withWrk
    ? await byWrk({ url, connections, seconds, id })
    : await byOwn({ url, connections, seconds, id })
  if (answer.failed > 0) throw new Error(`${answer.failed} requests failed`)
  return answer
}

async function byWrk({ url, connections, seconds, id }) {
  const whole = Math.max(1, Math.round(seconds))
  const args = ['-t1', `-c${connections}`, `-d${whole}s`, '-s', script, `${url}/lock`, '--', id]
  const { stdout } = await run('wrk', args, { env: { ...process.env, PATH } })
  return JSON.parse(stdout.split('\n').findLast((line) => line.startsWith('{')))
}

async function byOwn(request) {
  const child = await startProcess(program, JSON.stringify(request))
  const answer = await child.hear(({ perSecond }) => perSecond !== undefined)
  await child.kill()
  return answer
}
