import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '../docs/page.ts'
import { killRest, startServer, type TestServer } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/* The shell lines of docs/coming-from.md that use Baton, with what they are said to print. */

const page = readPage('docs/coming-from.md')
const blocks = page.blocks.filter(({ language }) => language === 'sh')
const inTables = page.spans.filter((span) => /^baton \w+ .* -- /.test(span) && !span.includes('CMD'))

let server: TestServer
let shell: PageShell
beforeAll(async () => {
  server = await startServer()
  const scripts = { 'deploy.sh': 'echo "deploys, fence $BATON_FENCE"', scheduler: 'echo "leads, fence $BATON_FENCE"' }
  shell = new PageShell({ BATON_SERVER: server.url }, scripts)
})
afterAll(async () => {
  await server.stop()
  killRest()
  shell.remove()
})

test.each([...blocks.map(({ text }) => text), ...new Set(inTables)])('%s', async (text) => {
  const here = text.replaceAll('localhost:8086', new URL(server.url).host)
  const { code, stdout, stderr } = await shell.start(here).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const said = [...text.matchAll(/^# (\{.*),…\}$/gm)].map(([, reply]) => reply!)
  if (said.length === 0) expect(stdout).toMatch(/^(deploys|leads), fence \d+\n$/)
  // Each reply stands on a line of its own, or behind the one before it.
  else for (const reply of said) expect(stdout).toContain(reply)
})

test('there are lines of etcd, Consul and the classic server', () => {
  expect(blocks.map(({ heading }) => heading)).toEqual(['etcd', 'Consul', 'The classic server'])
  expect(inTables.length).toBeGreaterThanOrEqual(4)
})
