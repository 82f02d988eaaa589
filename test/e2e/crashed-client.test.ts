import { connect } from '@baton-lock/client'
import { expect, test } from 'vitest'
import { serverOfFile, startProgram, until } from './cli-process.ts'

const { server } = serverOfFile()

/** A process that locks a resource, and asks for it six times more. */
const CLIENT = `
import { connect } from '@baton-lock/client'
const baton = await connect(process.argv[1], { node: 'crashing', ttlMs: 1000 })
await baton.lock('r')
for (let index = 0; index < 6; index++) baton.lock('r')
`

test('of a client that is killed with its requests in line, none is granted any more', async () => {
  const client = startProgram(process.execPath, ['--input-type=module', '-e', CLIENT, server.url])
  const baton = await connect(server.url, { node: 'next' })
  await until('all of them wait', async () => (await baton.status('r')).waiting === 6)
  const next = baton.lock('r')
  await until('the next client waits too', async () => (await baton.status('r')).waiting === 7)
  client.kill('SIGKILL')
  const lock = await next
  const { grants } = await baton.timeline('r')
  expect(grants.map(({ node }) => node)).toEqual(['crashing', 'next'])
  expect(lock.fence).toBe(2)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  expect(metrics).toMatch(/^baton_grants_total\{[^}]*\} 2$/m)
  await lock.release()
  await baton.close()
}, 30_000)

test('two clients that wait for one another are named where somebody asks why it waits', async () => {
  const [a, b] = await Promise.all(['a', 'b'].map((node) => connect(server.url, { node })))
  const ledger = await a!.lock('ledger')
  const stock = await b!.lock('stock')
  const waiting = [a!.lock('stock'), b!.lock('ledger')]
  const status = await until('the cycle is seen', async () => {
    const { stdout } = await server.baton('status', 'ledger')
    return stdout.includes('one another') && stdout
  })
  expect(status).toContain(
    'a and b may wait for one another: a holds ledger and waits for stock, b holds stock and waits for ledger; ' +
      'if one task of each does both, revoke one of these grants, and have every task ask for them in the same order',
  )
  expect(JSON.parse((await server.baton('status', 'stock', '--json')).stdout).why[0].reasons[1]).toMatchObject({
    why: 'cycle',
    certain: false,
    links: [
      { node: 'b', holds: { operation: 'lock', resource: 'stock', fence: stock.fence } },
      { node: 'a', waitsFor: { operation: 'lock', resource: 'stock' } },
    ],
  })
  await ledger.release()
  await stock.release()
  for (const lock of await Promise.all(waiting)) await lock.release()
  await Promise.all([a!.close(), b!.close()])
}, 30_000)
