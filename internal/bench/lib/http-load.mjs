// POST /lock over some connections, for a new resource each time, by wrk.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PATH } from './programs.mjs'

const run = promisify(execFile)
const script = fileURLToPath(new URL('new-resources.lua', import.meta.url))
let runs = 0

export async function postLocks({ url, connections, seconds }) {
  const id = `bench-${process.pid}-${++runs}`
  const wholeSeconds = Math.max(1, Math.round(seconds))
  const args = ['-t1', `-c${connections}`, `-d${wholeSeconds}s`, '-s', script, `${url}/lock`, '--', id]
  const { stdout } = await run('wrk', args, { env: { ...process.env, PATH } })
  const answer = JSON.parse(stdout.split('\n').findLast((line) => line.startsWith('{')))
  if (answer.failed > 0) throw new Error(`${answer.failed} requests failed`)
  return answer
}
