import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, unpack } from './consumer-project.ts'

let folder: string
let main: string
let server: ChildProcess
let url: string

const baton = (...args: string[]) =>
  run(process.execPath, [main, ...args], { cwd: folder, env: { ...process.env, BATON_SERVER: url } })

/** In a folder with no packages: what is not bundled is not there. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-bundle-'))
  await unpack(folder)
  main = join(folder, 'dist/main.js')
  server = spawn(process.execPath, [main, 'serve', '--port', '0', '--store', 'file:data'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await once(server.stdout!, 'data')
  url = /http\S+/.exec(String(said))![0]
}, 60_000)

afterAll(async () => {
  const ended = once(server, 'exit')
  server.kill()
  await ended
  await rm(folder, { recursive: true, force: true })
})

test('the command line needs no package', async () => {
  expect((await baton('--help')).stdout).toContain('content')
  expect((await baton('lock', 'x', '--', 'echo', 'done')).stdout).toBe('done\n')
  expect((await baton('once', 'nightly', '--per', '20h', '--', 'true')).stderr).toBe('')
  expect((await baton('status', 'nightly')).stdout).toContain('once')
  expect((await baton('policy', 'show')).stdout).toContain('operations')
})

test('nor does its server', async () => {
  const refused = await fetch(`${url}/v1/acquire`, { method: 'POST', body: '{}' })
  expect(await refused.json()).toMatchObject({ message: 'resource: is missing; give a string.' })
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object }
  expect(Object.keys(paths)).toContain('/v1/acquire')
  expect((await fetch(`${url}/v1/nothing`)).status).toBe(404)
})

test('it serves the page, which comes with the licences of what is in it', async () => {
  const page = await fetch(url)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const text = await page.text()
  const files = [...text.matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path)
  expect(files).toHaveLength(3)
  for (const file of files) expect((await fetch(url + file)).status, file).toBe(200)
  const licences = await readFile(join(folder, 'dist/dashboard/LICENSES.txt'), 'utf8')
  for (const name of ['preact', '@preact/signals', '@preact/signals-core'])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

test('every package in it comes with its licence', async () => {
  const files = (await readdir(join(folder, 'dist/main'))).filter((path) => path.endsWith('.js'))
  const texts = await Promise.all(files.map((path) => readFile(join(folder, 'dist/main', path), 'utf8')))
  const inside = texts.join('\n').matchAll(/^\/\/ (?:#region )?.*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)
  const names = [...new Set([...inside].map(([, name]) => name!))]
  expect(names).toEqual(expect.arrayContaining(['commander', 'fastify', 'semver', 'ws', 'zod']))
  const licences = (await readFile(join(folder, 'dist/main/LICENSES.txt'), 'utf8')).split(/\n-{80}\n\n/)
  const told = licences.map((text) => /^(\S+) \d+\.\d+\.\d+\n\n.*(?:permission|MIT License)/is.exec(text)?.[1])
  expect(told.sort()).toEqual(names.sort())
})
