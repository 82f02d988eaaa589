import { readFileSync } from 'node:fs'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { killRest, startServer } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/* The lines below 'Over HTTP' of README.md, as a shell runs them. */

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const [, script = ''] = /\n## Over HTTP\n+```sh\n(.*?)^```/ms.exec(readme) ?? []
const said = [...script.matchAll(/^# (\{.*\})$/gm)].map(([, reply]) => reply!)

const shell = new PageShell({}, {})
afterAll(() => {
  killRest()
  shell.remove()
})

test.each([0, 1, 12])('they hold on a server whose fences have come to %d', async (fences) => {
  const server = await startServer()
  onTestFinished(async () => void (await server.stop()))
  for (let count = 0; count < fences; count++) {
    const post = (path: string, body: object) =>
      fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    const { status } = await post('/v1/acquire', { operation: 'lock', resource: 'r', node: 'a' })
    expect(status).toBe(200)
    await post('/v1/release', { operation: 'lock', resource: 'r', owner: 'a', fence: count + 1, outcome: 'success' })
  }
  const lines = script.replaceAll('localhost:8086', new URL(server.url).host)
  const { stdout, stderr } = await shell.start(lines).ended
  expect(stderr).toBe('')
  // What the page shows is the first time; where it ends in '…', more follows.
  const shown = said.map((reply) => reply.replaceAll('"fence":1', `"fence":${fences + 1}`).replace(/…\}$/, ''))
  const replies = stdout.split('\n').filter(Boolean)
  expect(replies.map((reply, index) => reply.slice(0, shown[index]?.length))).toEqual(shown)
})
