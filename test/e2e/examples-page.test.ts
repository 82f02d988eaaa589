import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest, MAIN, openFolder, startProgram, startServer, type TestServer } from './cli-process.ts'

/* What stands in examples/README.md is what runs: its JavaScript is part of the programs, its shell lines are run here. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = join(root, 'examples')
const page = readFileSync(join(examples, 'README.md'), 'utf8')
const programs = new Map(
  readdirSync(examples)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => [name, readFileSync(join(examples, name), 'utf8')]),
)
const blocks = [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
  language,
  text: text!,
}))
const textsIn = (language: string) => blocks.filter((block) => block.language === language).map(({ text }) => text)

/** How often three machines that start it at the same time run the command. */
const RUNS: Readonly<Record<string, number>> = { once: 1, run: 1, lock: 3, lead: 3 }

const folder = openFolder()
let server: TestServer
beforeAll(async () => {
  server = await startServer()
  writeScript('baton', `exec '${process.execPath}' '${MAIN}' "$@"`)
})
afterAll(() => {
  killRest()
  folder.remove()
})

function writeScript(name: string, text: string): void {
  writeFileSync(folder.path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
}

test('every block is one of JavaScript or of the shell, and there are some of both', () => {
  expect(blocks.filter(({ language }) => language !== 'js' && language !== 'sh')).toEqual([])
  expect([textsIn('js').length, textsIn('sh').length]).toEqual([10, 6])
  expect(page.match(/^```/gm)).toHaveLength(2 * blocks.length)
})

test.each(textsIn('js'))('a part of a program: %s', (text) => {
  expect([...programs].filter(([, program]) => program.includes(text)).map(([name]) => name)).toHaveLength(1)
})

test('every program is named on the page, and every file that is named is there', () => {
  const named = [...page.matchAll(/\]\(([\w-]+\.mjs)\)/g)].map(([, name]) => name!)
  expect(named.filter((name) => !programs.has(name))).toEqual([])
  const own = ['note.mjs', 'cacheable-prices.mjs']
  expect([...programs.keys()].filter((name) => !named.includes(name)).sort()).toEqual(own.sort())
})

test.each(textsIn('sh'))('three machines run: %s', async (line) => {
  const command = /-- \.\/(\S+)/.exec(line)![1]!
  writeScript(
    command,
    `echo "$BATON_NODE enters" >> ${command}.log\nsleep 0.05\necho "$BATON_NODE leaves" >> ${command}.log`,
  )
  const ends = ['a', 'b', 'c'].map((node) => {
    const env = { BATON_SERVER: server.url, BATON_NODE: node, PATH: `${folder.path('.')}:${process.env.PATH}` }
    return startProgram('/bin/sh', ['-c', line], { env, cwd: folder.path('.') }).ended
  })
  for (const end of ends) expect(await end).toMatchObject({ code: 0, stdout: '' })
  const lines = folder.read(`${command}.log`).split('\n').slice(0, -1)
  const nodes = lines.filter((each) => each.endsWith(' enters')).map((each) => each.split(' ')[0])
  expect(lines).toEqual(nodes.flatMap((node) => [`${node} enters`, `${node} leaves`]))
  expect(nodes).toHaveLength(RUNS[/.*\bbaton (\w+)/.exec(line)![1]!]!)
})

test('the programs fit the types of the package', async () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { code, stdout } = await startProgram(process.execPath, [tsc, '-p', examples]).ended
  expect([code, stdout]).toEqual([0, ''])
})
