// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { tenNodes } from '@baton-lock/test-support/go-client'
import { serverAt } from '@baton-lock/test-support/server-world'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { baton, killRest, openFolder, type Running, start, startServer, type TestServer, until } from './cli-process.ts'

/* The built product over three members of etcd: servers that keep nothing themselves, and any of which may die. */
let cluster: EtcdCluster
let url: string
let stores = 0
const folder = openFolder()
const servers: TestServer[] = []

beforeAll(async () => {
  cluster = await startEtcd()
}, 60_000)
afterAll(async () => {
  killRest()
  folder.remove()
  await cluster.stop()
})
beforeEach(() => {
  url = cluster.url(`e${++stores}`)
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function serve(): Promise<TestServer> {
  const server = await startServer(['--store', url])
  servers.push(server)
  return server
}

const shell = (script: string) => ['--', 'sh', '-c', script]

test('whose server is killed keeps what it holds, and whoever waits its place', async () => {
  const [first, second] = [await serve(), await serve()]
  const both = ['--server', `${first.url},${second.url}`]
  const [started, go, order] = ['started', 'go', 'order'].map((name) => folder.path(`kept-${name}`))
  const holding = `echo $BATON_FENCE > ${started}; while [ ! -e ${go} ]; do sleep 0.05; done; echo holder >> ${order}; exit 1`
  const holder = start(['run', 'pull', 'layer', ...both, '--node', 'a', ...shell(holding)])
  await until('the holder has it', () => folder.read('kept-started') !== '')
  const waiters: Running[] = []
  for (const node of ['b', 'c']) {
    const waiter = start([
      'run',
      'pull',
      'layer',
      ...both,
      '--node',
      node,
      ...shell(`echo ${node} >> ${order}; exit 1`),
    ])
    waiters.push(waiter)
    await until(`${node} waits`, () => /waiting/.test(waiter.stderr()))
  }
  const fence = Number(folder.read('kept-started'))
  first.process.kill('SIGKILL')
  await first.process.ended
  const view = async () => {
    const answer = await fetch(`${second.url}/v1/resource?resource=layer`)
    return (await answer.json()) as { resource: { grants: { fence: number; node: string }[]; waiting: number } }
  }
  const { resource } = await view()
  expect(resource.grants).toMatchObject([{ fence, node: 'a' }])
  expect(resource.waiting).toBe(2)
  // Beyond the lease: whoever had not moved would have lost it.
  await until('all have moved', () => [holder, ...waiters].every((each) => each.stderr().includes('leaving')))
  await cluster.compact()
  await baton(['run', 'lock', 'go', '--server', second.url, ...shell(`touch ${go}`)])
  const ends = await Promise.all([holder, ...waiters].map((each) => each.ended))
  expect(ends.map(({ code }) => code)).toEqual([1, 1, 1])
  expect(folder.read('kept-order')).toBe('holder\nb\nc\n')
}, 60_000)

test('without a quorum requests are answered 503 within ten seconds, nothing is granted, and it goes on by itself', async () => {
  const server = await serve()
  const ask = (resource: string) =>
    fetch(`${server.url}/v1/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ operation: 'lock', resource, node: 'a', waitMs: 0 }),
    })
  expect((await ask('before')).status).toBe(200)
  const [first, second] = cluster.members
  for (const member of [first!, second!]) member.pause()
  try {
    const startedMs = performance.now()
    const answers = await Promise.all(Array.from({ length: 5 }, (_, index) => ask(`while-${index}`)))
    expect(performance.now() - startedMs).toBeLessThan(10_000)
    for (const answer of answers) {
      expect(answer.status).toBe(503)
      const { code } = (await answer.json()) as { readonly code: string }
      expect(code).toMatch(/^(store-unavailable|unknown-outcome)$/)
    }
  } finally {
    for (const member of [first!, second!]) member.resume()
  }
  await until('it grants again', async () => (await ask('after')).status === 200)
}, 60_000)

test('without a server, a command that keeps its success says that it ages only while somebody is there', async () => {
  const work = ['once', 'nightly', '--store', url, ...shell('true')]
  const kept = await baton([...work.slice(0, 2), '--per', '20h', ...work.slice(2)])
  expect(kept.stderr).toContain('ages only while some process has it open')
  expect(kept.code).toBe(0)
  expect((await baton(work)).stderr).not.toContain('ages')
})

test('whoever is cut off with one member goes on at another', async () => {
  const server = await serve()
  const lock = (name: string) => server.baton('run', 'lock', name, '--node', 'a', ...shell('true'))
  expect((await lock('before')).code).toBe(0)
  const leader = await cluster.leader()
  const heal = cluster.isolate(leader)
  try {
    expect((await lock('while')).code).toBe(0)
  } finally {
    heal()
  }
  expect((await lock('after')).code).toBe(0)
}, 60_000)

test('ten nodes of the known classic client at two servers, the first two fail: the work is done three times', async () => {
  const servers = [await serve(), await serve()]
  const types = ['pull', 'update', 'delete', 'image-layer']
  const worlds = servers.map((server) => serverAt(server.url))
  const ends = await Promise.all(
    types.map((type) => tenNodes(worlds, { type, resource: type, named: false, workMs: 1_200 })),
  )
  for (const each of ends) expect(each.sort()).toEqual([...Array(7).fill('done'), 'failed', 'failed', 'worked'])
}, 60_000)
