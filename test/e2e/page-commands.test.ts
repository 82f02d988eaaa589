import { mkdirSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '../docs/page.ts'
import { killRest, startServer, type TestServer, until } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/* The shell lines of docs/coming-from.md that use Baton, with what they are said to print, and those of docs/operations.md. */

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

/** The lines of the shell below a heading of docs/operations.md. */
const operations = (under: string) =>
  readPage('docs/operations.md')
    .blocks.filter(({ language, heading }) => language === 'sh' && heading === under)
    .flatMap(({ text }) => text.trimEnd().split('\n'))

test('operations: a backup is made while the server runs, and a store of it when it does not', async () => {
  const here = (line: string) => line.replaceAll(/\/var\/(lib|backups)\/baton/g, (_, name) => shell.path(name))
  const from = (line: string, url: string) => line.replace('http://127.0.0.1:8086', url)
  const [backup, restore, ...more] = operations('Backup and restore')
  expect(more).toEqual([])
  const lives = await startServer(['--store', `file:${shell.path('lib')}`])
  expect(await lives.baton('refs', 'add', 'r', '--node', 'node-a')).toMatchObject({ code: 0 })
  mkdirSync(shell.path('backups'))
  expect(await shell.start(from(here(backup!), lives.url)).ended).toMatchObject({ code: 0 })
  await lives.stop()
  rmSync(shell.path('lib'), { recursive: true })
  const { code, stderr } = await shell.start(here(restore!)).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const restored = await startServer(['--store', `file:${shell.path('lib')}`])
  expect((await restored.baton('refs', 'list', 'r')).stdout).toContain('node-a')
  await restored.stop()
})

test('operations: somebody looks at what is held, listens to it, takes it away, and has it done again', async () => {
  const [looks, listens, revokes, forgets, drops, ...more] = operations('Somebody waits, and nothing happens')
  expect(more).toEqual([])
  const work = "baton once nightly --per 1h --node node-a -- sh -c 'echo works; sleep 30'"
  const holder = shell.start(`exec ${work}`)
  await until('it works', () => holder.stdout().includes('works'))
  expect((await shell.start(looks!).ended).stdout).toMatch(/^nightly\n {2}holds +once {2}node-a /)
  const listener = shell.start(`exec ${listens}`)
  // It says nothing until something happens.
  await until('it listens', async () => {
    for (const does of ['add', 'release']) await server.baton('refs', does, 'nightly', '--node', 'node-b')
    return listener.stdout() !== ''
  })
  expect(await shell.start(revokes!).ended).toMatchObject({ code: 0 })
  expect((await holder.ended).code).toBe(70)
  await until('it was told', () => listener.stdout().includes('revoked'))
  listener.kill('SIGINT')
  await listener.ended
  expect((await shell.start(work.replace('sleep 30', 'true')).ended).code).toBe(0)
  for (const line of [forgets, drops]) expect(await shell.start(line!).ended).toMatchObject({ code: 0 })
  expect((await shell.start(looks!).ended).stdout).not.toContain('kept')
})
