import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readPage, root } from '../docs/page.ts'
import { killRest, startServer, type TestServer, until } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/*
 * Every command of README.md is run: the blocks of the shell as they stand, and what stands between backquotes in sentences and
 * tables. What needs a database is run by readme-mysql.test.ts and readme-etcd.test.ts.
 */

// Some of them are several processes of npm.
vi.setConfig({ testTimeout: 90_000 })

const page = readPage('README.md')
const DATABASES = ['On MySQL or MariaDB', 'On etcd']
const blocks = page.blocks.filter(({ language, heading }) => language === 'sh' && !DATABASES.includes(heading))
/** test/docs/packages.test.ts says whether what they install is published here, and test/consumer installs it. */
const isInstall = (span: string) => span.startsWith('npm install ')
const inline = [...new Set(page.spans.filter((span) => /^(baton|npm|npx|node|curl) /.test(span) && !isInstall(span)))]

/** Commands that need more than a server, and the test that runs them. */
const ELSEWHERE: Readonly<Record<string, { readonly test: string; readonly has: string }>> = {
  'baton content --config content.toml': {
    test: 'packages/containerd/test/content-page.verify.test.ts',
    has: "'content', '--config'",
  },
}

/** What the page calls beside Baton. Each notes who called it, and with what. */
const called = (name: string) => `echo "$BATON_NODE $*" >> ${name}.log`
const NAMES = ['nightly.sh', 'scheduler', 'migrate.sh', 'fetch-layer', 'remove-layer', 'deploy.sh']
const scripts = Object.fromEntries(NAMES.map((name) => [name, called(name)]))

let server: TestServer
let shell: PageShell
beforeAll(async () => {
  server = await startServer()
  shell = new PageShell({ BATON_SERVER: server.url, BATON_NODE: 'node-a' }, scripts)
})
afterAll(async () => {
  await server.stop()
  killRest()
  shell.remove()
})

/** What is this machine's own. */
const here = (text: string) =>
  text.replaceAll('localhost:8086', new URL(server.url).host).replaceAll('/var/lib/baton', shell.path('data'))

const layer = ['sha256:9f86d0', '--namespace', 'content']

test.each(blocks)('$heading: $text', async ({ text }) => {
  const expected = Number(/# exit code (\d+)/.exec(text)?.[1] ?? 0)
  if (text.includes('run delete')) {
    // Somebody else uses it, as long as this test runs.
    expect(await server.baton('refs', 'add', ...layer, '--node', 'node-b')).toMatchObject({ code: 0 })
    onTestFinished(async () => void (await server.baton('refs', 'release', ...layer, '--node', 'node-b')))
  }
  const { code, stdout, stderr } = await shell.start(here(text), { BATON_STORE: `file:${shell.path('data')}` }).ended
  expect({ code, stderr: code === expected ? '' : stderr }).toEqual({ code: expected, stderr: '' })
  // What it says in a comment is what it prints.
  const [, said] = /# (skipped: .*) …$/m.exec(text) ?? []
  if (said !== undefined) expect(stderr).toContain(said)
  if (/^(baton serve|npm start|.*&& npm start)/m.test(text)) expect(stdout).toContain('baton listening on http')
})

/** They say what happens until somebody ends them. */
const isEndless = (line: string) => /^baton (events|status .*--watch)/.test(line)

test.each(inline.filter(isEndless))('`%s`', async (line) => {
  const running = shell.start(`exec ${line}`)
  onTestFinished(() => running.kill('SIGKILL'))
  await until('it says something', async () => {
    for (const does of ['add', 'release']) await server.baton('refs', does, 'seen', '--node', 'node-b')
    return running.stdout() !== ''
  })
  running.kill('SIGINT')
  expect((await running.ended).stderr).toBe('')
})

test.each(inline.filter((line) => !isEndless(line)))('`%s`', async (line) => {
  const elsewhere = ELSEWHERE[line]
  if (elsewhere) {
    expect(readFileSync(join(root, elsewhere.test), 'utf8')).toContain(elsewhere.has)
    return
  }
  const { code, stderr } = await shell.start(line === 'npx baton' ? `${line} --version` : here(line)).ended
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  const command = /-- \.\/(\S+)(.*)$/.exec(line)
  if (command) expect(shell.read(`${command[1]}.log`)).toContain(`node-a${command[2] || ' '}`)
})

test('there are commands of both kinds, and every one that is said to be run elsewhere is on the page', () => {
  expect(blocks.length).toBeGreaterThanOrEqual(5)
  expect(inline.length).toBeGreaterThanOrEqual(8)
  expect(Object.keys(ELSEWHERE).filter((line) => !inline.includes(line))).toEqual([])
  for (const name of ['mysql', 'etcd']) expect(existsSync(join(root, `test/e2e/readme-${name}.test.ts`))).toBe(true)
  for (const each of DATABASES) expect(page.blocks.some(({ heading }) => heading === each)).toBe(true)
})
