const { connect, open } = require('baton-lock')
const { startServer } = require('baton-lock/server')
const { openMemoryStore } = require('baton-lock/stores')
const { openContent } = require('@baton-lock/containerd')
const { kind: etcd } = require('@baton-lock/store-etcd')
const { kind: mysql } = require('@baton-lock/store-mysql')
const { FencedResource, SimulatedClock } = require('@baton-lock/testing')

test('the lock works in process and at a server', async () => {
  const server = await startServer({ store: 'memory:', port: 0 })
  for (const baton of [await open('memory:'), await connect(server.url)]) {
    const { status, result } = await baton.once('report', () => 'written')
    expect({ status, result }).toEqual({ status: 'performed', result: 'written' })
    expect(await baton.lock('accounts', async ({ fence }) => fence)).toBe(1)
    await baton.close()
  }
  await server.close()
})

test('a store in a package of its own is loaded with its driver', async () => {
  const options = { whenUnavailable: 'fail' }
  await expect(open('mysql://user@127.0.0.1:1/baton', options)).rejects.toThrow('ECONNREFUSED')
  await expect(open('etcd://127.0.0.1:1', options)).rejects.toThrow('127.0.0.1:1')
})

test('all packages are loaded', async () => {
  for (const each of [openContent, etcd.open, mysql.open, openMemoryStore]) expect(typeof each).toBe('function')
  expect(new FencedResource().write('config', 1)).toBe(true)
  expect(new SimulatedClock(5).nowMs()).toBe(5)
})
