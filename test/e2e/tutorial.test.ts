import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { urlOf } from '@baton-lock/test-support/baton-server'
import { afterAll, expect, test } from 'vitest'
import { type Block, readPage } from '../docs/page.ts'
import { type End, killRest, type Running, until } from './cli-process.ts'
import { PageShell } from './page-shell.ts'

/*
 * docs/tutorial.md, from its first command to its last, in the shells that it names. What it shows is compared with what is printed, but for
 * times. Where the reader has five seconds, here `sleep` lasts until the others have come.
 */

const page = readPage('docs/tutorial.md')
/** What is to be run, each with what it is said to print. */
const steps = page.blocks.flatMap((block, index) => {
  if (block.language !== 'sh') return []
  const next = page.blocks[index + 1]
  return [{ ...block, shown: next?.language === 'text' ? next.text : '' }]
})
let taken = 0

/** The next command of the page. It has to be the one that is meant. */
function take(heading: string): Block & { readonly shown: string } {
  const step = steps[taken++]
  expect(step?.heading).toBe(heading)
  return step!
}

const SLEEP = 'echo > sleeping; while [ ! -e "go-$BATON_NODE" ]; do /bin/sleep 0.05; done'
const shell = new PageShell({}, { 'bin/sleep': SLEEP })
afterAll(() => {
  killRest()
  shell.remove()
})

const TIMES: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME'],
  [/\b\d+(\.\d+)?(ms|s|m|h)( \d+(s|m))?\b/g, 'TIME'],
  [/ {2,}/g, '  '],
]
const masked = (text: string) => TIMES.reduce((all, [times, mask]) => all.replaceAll(times, mask), text)

/** Both streams, as a terminal shows them. Which comes first is said by the page: here they come by two pipes. */
function expectShown({ code, stdout, stderr }: End, shown: string, expected = 0): void {
  expect(code).toBe(expected)
  const lines = (text: string) => masked(text).split('\n').filter(Boolean)
  expect([...lines(stderr), ...lines(stdout)]).toEqual(lines(shown))
}

async function atWork(): Promise<void> {
  await until('the command works', () => existsSync(shell.path('sleeping')))
  rmSync(shell.path('sleeping'))
}

/** Ends the sleep of a node, until it is held back again. */
const letGo = (node: 'node-a' | 'node-b') => writeFileSync(shell.path(`go-${node}`), '')
const holdBack = () => {
  for (const node of ['node-a', 'node-b']) rmSync(shell.path(`go-${node}`), { force: true })
}
const waits = (running: Running) => until('it waits', () => running.stderr().includes('waiting, next in line'))

test('the tutorial does what it says', async () => {
  const server = shell.start(`exec ${take('A server').text.replace('npm ci && ', '')}`, {
    KEEP_SERVER: '1',
    BATON_STORE: `file:${shell.path('data')}`,
  })
  const url = await urlOf(server)
  const here = (text: string) => text.replaceAll('http://127.0.0.1:8086', url)
  expect(masked(server.stdout())).toContain(masked(here(steps[0]!.shown)))

  const exports = ['a', 'b'].map(() => take('Work that is done once').text)
  expect(exports.map((text) => /BATON_NODE=(\S+)/.exec(text)?.[1])).toEqual(['node-a', 'node-b'])
  expect((await shell.start(exports[0]!).ended).code).toBe(0)
  const node = ([, setting]: RegExpExecArray) => ({ BATON_NODE: setting, BATON_SERVER: url })
  const [a, b] = exports.map((text) => node(/BATON_NODE=(\S+)/.exec(text)!))

  // Once: one counts, the other one is told.
  const counting = take('Work that is done once')
  const counts = shell.start(counting.text, a)
  await atWork()
  const skipping = take('Work that is done once')
  const skips = shell.start(skipping.text, b)
  await waits(skips)
  letGo('node-a')
  expectShown(await counts.ended, counting.shown)
  expectShown(await skips.ended, skipping.shown)
  expect((await shell.start(skipping.text, b).ended).stderr).toMatch(/^skipped/)

  // It fails, and the next one goes on; while that works, somebody looks.
  holdBack()
  const failing = take('A failure, and a hand-over')
  const fails = shell.start(failing.text, a)
  await atWork()
  const following = take('A failure, and a hand-over')
  const follows = shell.start(following.text, b)
  await waits(follows)
  letGo('node-a')
  expectShown(await fails.ended, failing.shown, 1)
  await atWork()
  const looking = take('Look at it')
  expectShown(await shell.start(looking.text, a).ended, looking.shown)
  letGo('node-b')
  expectShown(await follows.ended, following.shown)

  // A lock, from two processes.
  const program = take('A lock from a program')
  expectShown(await shell.start(here(program.text).replace('1_000', '50'), a).ended, program.shown)

  // A leader that is interrupted, and its standby.
  holdBack()
  const leading = take('A leader, and a standby')
  const leads = shell.start(`exec ${leading.text}`, a)
  await atWork()
  const standing = take('A leader, and a standby')
  const stands = shell.start(standing.text, b)
  await waits(stands)
  leads.kill('SIGINT')
  expect(masked((await leads.ended).stdout)).toBe(masked(leading.shown))
  await atWork()
  letGo('node-b')
  expectShown(await stands.ended, standing.shown)

  expect(taken).toBe(steps.length)
  server.kill('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0 })
}, 60_000)
