import { fileURLToPath } from 'node:url'
import type { GrantView, RecentView, ResourceView } from '@baton-lock/core'
import { afterAll, expect, test } from 'vitest'
import { killRest, type Running, startProgram, until } from './cli-process.ts'

const SERVER = fileURLToPath(new URL('./busy-process.mjs', import.meta.url))
/** Less than the server is away for, more than what a slow machine needs for some requests. */
const TTL_MS = 3_000

afterAll(killRest)

async function start() {
  const server = startProgram(process.execPath, [SERVER])
  const [, url] = await server.says(/listening on (\S+)\n/)
  const post = async (path: string, body: object) => {
    const reply = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
    return (await reply.json()) as Record<string, unknown>
  }
  const look = async (resource: string) => {
    const reply = await fetch(`${url}/v1/resource?resource=${resource}`)
    return ((await reply.json()) as { resource: ResourceView }).resource
  }
  const holder = async (resource: string) => (await look(resource)).grants[0]?.node
  const acquire = (resource: string, node: string, more = {}) =>
    post('/v1/acquire', { operation: 'lock', resource, node, ttlMs: TTL_MS, ...more })
  return { server, post, look, holder, acquire }
}

/** Processor time is no time of the clock on a machine that others use too. */
async function isIdleAgain(server: Running): Promise<void> {
  while (!server.stdout().includes('idle')) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('while a server is busy the leases of the dead run on, and who has renewed meanwhile keeps its own', async () => {
  const { server, post, look, holder, acquire } = await start()
  // As many connections as there are requests at once: what is sent later finds one.
  await Promise.all(Array.from({ length: 4 }, () => holder('any')))
  await post('/v1/sessions/open', { session: 's', node: 'alive', ttlMs: TTL_MS })
  await acquire('of-a-session', 'alive', { session: 's' })
  await acquire('renewed', 'alive')
  await acquire('of-the-dead', 'dead')
  await acquire('of-the-dead', 'next', { ttlMs: 60_000 })
  server.kill('SIGUSR2')
  await until('it is busy', () => server.stdout().includes('busy') || undefined)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  // It does not hear any of these before it is done; those who come first want what others have not renewed yet.
  const rivals = [acquire('of-a-session', 'rival'), acquire('renewed', 'rival')]
  const renewed = [
    post('/v1/sessions/renew', { session: 's' }),
    post('/v1/renew', { operation: 'lock', resource: 'renewed', owner: 'alive', fence: 1 }),
  ]
  await isIdleAgain(server)
  expect(await Promise.all(renewed)).toMatchObject([{ status: 'alive', places: 1 }, { status: 'renewed' }])
  expect(await Promise.all(rivals)).toMatchObject([{ status: 'queued' }, { status: 'queued' }])
  await acquire('later', 'a', { ttlMs: 60_000 })
  await until('the dead has lost it', async () => (await holder('of-the-dead')) === 'next' || undefined)
  const [{ atMs }] = (await look('of-the-dead')).recent as [RecentView]
  const [{ sinceMs }] = (await look('later')).grants as [GrantView]
  expect(atMs - sinceMs).toBeLessThan(TTL_MS / 3)
  expect([await holder('of-a-session'), await holder('renewed')]).toEqual(['alive', 'alive'])
}, 120_000)

test('while a server is stopped no lease runs out', async () => {
  const { server, holder, acquire } = await start()
  await acquire('r', 'a')
  await acquire('r', 'next', { ttlMs: 60_000 })
  server.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, TTL_MS + 2_000))
  server.kill('SIGCONT')
  expect(await holder('r')).toBe('a')
  await until('its lease runs out then', async () => (await holder('r')) === 'next' || undefined)
}, 120_000)
