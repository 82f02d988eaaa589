import { join } from 'node:path'
import { startServe, urlOf } from '@baton-lock/test-support/baton-server'
import type { Started } from '@baton-lock/test-support/processes'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENV, failureOf, freshProject, installedIn, type Project, run, subpathsOf } from './fresh-project.ts'

const MB = 1_000_000

/** Two projects: one has only the client, the other one only baton-lock. */
let client: Project
let batonLock: Project
let server: Started | undefined
let url: string

beforeAll(async () => {
  const sources = ['programs']
  ;[client, batonLock] = await Promise.all([
    freshProject(['@baton-lock/client'], { sources }),
    freshProject(['baton-lock'], { sources }),
  ])
  const command = [join(batonLock.folder, 'node_modules/.bin/baton')]
  const flags = ['--store', 'file:data', '--log-level', 'warn']
  server = startServe(command, flags, { cwd: batonLock.folder, env: ENV })
  url = await urlOf(server)
}, 120_000)

afterAll(async () => {
  await server?.end('SIGTERM')
  for (const project of [client, batonLock]) await project?.remove()
})

function installsAtMost(project: Project, { packages, megabytes }: { packages: number; megabytes: number }): void {
  const { names, bytes } = installedIn(project)
  console.log(`${names.length} packages, ${(bytes / MB).toFixed(2)} MB: ${names.join(', ')}`)
  expect(names.length).toBeLessThanOrEqual(packages)
  expect(bytes).toBeLessThanOrEqual(megabytes * MB)
}

describe('@baton-lock/client by itself', () => {
  test('is at most 3 packages and 1 MB', () => {
    installsAtMost(client, { packages: 3, megabytes: 1 })
    expect(installedIn(client).names).toContain('@baton-lock/client')
  })

  test.each(['client.mjs', 'client.cjs'])('works with a server: %s', async (program) => {
    const { stdout, stderr } = await client.node(program, url)
    const status = program === 'client.mjs' ? 'performed' : 'skipped'
    expect({ stdout, stderr }).toEqual({ stdout: `${status} written busy\n`, stderr: '' })
  })
})

describe('baton-lock by itself', () => {
  const baton = (...args: string[]) =>
    run('node_modules/.bin/baton', args, {
      cwd: batonLock.folder,
      env: { ...ENV, BATON_SERVER: url },
    })

  test('is at most 60 packages and 25 MB', () => {
    installsAtMost(batonLock, { packages: 60, megabytes: 25 })
    expect(installedIn(batonLock).names).toContain('baton-lock')
  })

  test.each(['library.mjs', 'library.cjs'])('works without a server: %s', async (program) => {
    const { stdout, stderr } = await batonLock.node(program)
    expect({ stdout, stderr }).toEqual({ stdout: 'performed: written by 1, skipped: written by 1\n', stderr: '' })
  })

  test.each(['away.mjs', 'away.cjs'])(
    'a store in another package says which command installs it: %s',
    async (program) => {
      const urls = ['mysql://user@127.0.0.1/baton', 'mariadb://user@127.0.0.1/baton', 'etcd://127.0.0.1']
      const { stdout } = await batonLock.node(program, ...urls)
      expect(stdout.match(/^ArgumentError: .*npm install \S+/gm)).toEqual([
        ...Array<string>(2).fill(refusal('the store mysql', '@baton-lock/store-mysql')),
        refusal('the store etcd', '@baton-lock/store-etcd'),
      ])
    },
  )

  const refusal = (what: string, name: string) =>
    `ArgumentError: ${what} needs the package ${name}. Install it: npm install ${name}`

  test('so does the command line', async () => {
    const lock = failureOf(baton('lock', 'x', '--store', 'mysql://user@127.0.0.1/baton', '--', 'true'))
    expect(await lock).toContain('npm install @baton-lock/store-mysql')
    expect(await failureOf(baton('content', '--config', 'x'))).toContain('npm install @baton-lock/containerd')
  })

  test('its command line runs', async () => {
    expect((await baton('--help')).stdout).toContain('content')
    expect((await baton('lock', 'x', '--', 'echo', 'done')).stdout).toBe('done\n')
    expect((await baton('once', 'nightly', '--per', '20h', '--', 'true')).stderr).toBe('')
    expect((await baton('status', 'nightly')).stdout).toContain('once')
    expect((await baton('policy', 'show')).stdout).toContain('operations')
  })

  test('its server checks requests and describes itself', async () => {
    const refused = await fetch(`${url}/v1/acquire`, { method: 'POST', body: '{}' })
    expect(await refused.json()).toMatchObject({ message: 'resource: is missing; give a string.' })
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object }
    expect(Object.keys(paths)).toContain('/v1/acquire')
    expect((await fetch(`${url}/v1/nothing`)).status).toBe(404)
  })

  test('its server has the dashboard', async () => {
    const page = await fetch(url)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    const files = [...(await page.text()).matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path)
    expect(files).toHaveLength(3)
    for (const file of files) expect((await fetch(url + file)).status, file).toBe(200)
  })

  test.each([
    ['imported', true],
    ['required', false],
  ])('what it exports can be %s, and nothing else', async (_, isModule) => {
    const exported = [...subpathsOf('baton-lock'), ...subpathsOf('@baton-lock/client')]
    expect(exported).toHaveLength(7)
    expect(await batonLock.load(exported, { isModule })).toBe('')
    for (const name of ['baton-lock/dist/index.js', 'baton-lock/program', '@baton-lock/client/ask'])
      expect(await failureOf(batonLock.load([name], { isModule }))).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})
