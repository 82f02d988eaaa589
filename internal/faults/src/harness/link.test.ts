import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { byLinks, Link } from './link.ts'

/** A server that says again what it hears, behind a link, and a client of it. */
async function linked() {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {}).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const link = new Link(server.address() as { port: number })
  const port = await link.listen()
  const open = () => {
    const socket = connect(port, '127.0.0.1')
    const heard = { text: '', ends: [] as string[] }
    socket.on('data', (chunk) => {
      heard.text += chunk
    })
    for (const name of ['end', 'error', 'close']) socket.on(name, () => heard.ends.push(name))
    sockets.push(socket)
    return { socket, heard }
  }
  onTestFinished(() => {
    link.close()
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { link, open }
}

const until = (condition: () => boolean) => expect.poll(condition, { timeout: 5_000, interval: 5 }).toBe(true)

test('a blackhole lets nothing pass, and what was sent meanwhile arrives when it is over', async () => {
  const { link, open } = await linked()
  const { socket, heard } = open()
  socket.write('a')
  await until(() => heard.text === 'a')
  for (const way of ['there', 'back', 'both'] as const) {
    const before = heard.text
    const end = link.blackhole(way)
    socket.write('b')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(heard.text).toBe(before)
    end()
    await until(() => heard.text === `${before}b`)
  }
})

test('a reset, a half-close and a refusal are what they are called', async () => {
  const { link, open } = await linked()
  const first = open()
  first.socket.write('a')
  await until(() => first.heard.text === 'a')
  link.halfClose('client')
  await until(() => first.heard.ends.includes('end'))
  const second = open()
  second.socket.write('a')
  await until(() => second.heard.text === 'a')
  link.reset()
  await until(() => second.heard.ends.join() === 'error,close')
  const allow = link.refuse()
  const third = open()
  await until(() => third.heard.ends.includes('close'))
  allow()
  const fourth = open()
  fourth.socket.write('a')
  await until(() => fourth.heard.text === 'a')
})

test('a slow reader gets everything, late', async () => {
  const { link, open } = await linked()
  const { socket, heard } = open()
  link.readSlowly()
  const text = 'x'.repeat(300)
  const startMs = performance.now()
  socket.write(text)
  await until(() => heard.text === text)
  expect(performance.now() - startMs).toBeGreaterThan(60)
})

test('a connection that breaks after so many bytes carries those, and another one is whole', async () => {
  const { link, open } = await linked()
  for (const way of ['there', 'back'] as const) {
    const { socket, heard } = open()
    socket.write('ab')
    await until(() => heard.text === 'ab')
    link.breakAfter(3, way)
    socket.write('cd')
    await until(() => heard.text === 'abcd')
    socket.write('efgh')
    await until(() => heard.ends.includes('close'))
    expect(way === 'back' ? heard.text : 'abcde').toBe('abcde')
    const next = open()
    next.socket.write('x'.repeat(100))
    await until(() => next.heard.text.length === 100)
  }
})

test('a URL by links keeps all of it but its hosts', () => {
  expect(byLinks('mysql://u:p%40@db:3306/name', [1])).toBe('mysql://u:p%40@127.0.0.1:1/name')
  expect(byLinks('etcd://a:2379,b:2379/p/?compact=1m', [1, 2])).toBe('etcd://127.0.0.1:1,127.0.0.1:2/p/?compact=1m')
  expect(byLinks('etcd://a', [1])).toBe('etcd://127.0.0.1:1')
})
