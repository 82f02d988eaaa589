import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import type { Token } from '@baton-lock/protocol'
import { logTo } from '@baton-lock/service'
import { SimulatedClock, settled } from '@baton-lock/store/conformance/simulated-clock'
import { newWorld, quiet, roundTrips, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { UnknownToken } from './token-guard.ts'
import { WrongTokens } from './wrong-tokens.ts'

const tokens: Token[] = [{ sha256: createHash('sha256').update('root').digest('hex'), role: 'admin' }]

function guardedWorld() {
  const lines: [message: string, fields: unknown][] = []
  const world = newWorld({ tokens, log: logTo((_, message, fields) => lines.push([message, fields])) })
  const ask = async (secret: string, from = '127.0.0.1') => {
    const headers = { authorization: `Bearer ${secret}` }
    return (await world.send({ method: 'GET', path: '/v1/policy', headers, from })).status
  }
  return { ...world, lines, ask }
}

/** Whether it has come about by now, without that any time has passed. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false
  void promise.then(() => {
    done = true
  })
  await quiet()
  return done
}

async function guess(ask: (secret: string, address?: string) => Promise<number>, count: number, address?: string) {
  for (let tries = 0; tries < count; tries++) expect(await ask(`guess-${tries}`, address)).toBe(401)
}

test('the sixth wrong token of an address within a minute is answered after a second', async () => {
  const { ask, clock } = guardedWorld()
  await guess(ask, 5)
  const sixth = ask('another')
  expect(await isDone(sixth)).toBe(false)
  await clock.advance(999)
  expect(await isDone(sixth)).toBe(false)
  await clock.advance(1)
  expect(await sixth).toBe(401)
  await clock.advance(60_000)
  await guess(ask, 5)
})

test('nobody else is slowed down: no other address, and no token that is known', async () => {
  const { ask, clock, get } = guardedWorld()
  await guess(ask, 5)
  const slowed = ask('another')
  expect(await isDone(slowed)).toBe(false)
  expect(await ask('root')).toBe(200)
  expect(await ask('root', '127.0.0.2')).toBe(200)
  await guess(ask, 5, '127.0.0.2')
  // Who shows none guesses nothing.
  for (let tries = 0; tries < 10; tries++) expect((await get('/v1/policy')).status).toBe(401)
  await clock.advance(1_000)
  expect(await slowed).toBe(401)
})

test('the operator is told of the first one, and then once a minute of how many there were, and of no token', async () => {
  const { ask, clock, lines } = guardedWorld()
  await guess(ask, 1, '127.0.0.9')
  expect(lines).toEqual([['wrong tokens', { requestId: '1', count: 1, networks: 1, mostFrom: '127.0.0.9' }]])
  await guess(ask, 3)
  await guess(ask, 1, '127.0.0.3')
  await clock.advance(59_000)
  expect(lines).toHaveLength(1)
  await clock.advance(1_000)
  expect(lines.slice(1)).toEqual([['wrong tokens', { count: 4, networks: 3, mostFrom: '127.0.0.1' }]])
  await clock.advance(3_600_000)
  expect(lines).toHaveLength(2)
  await guess(ask, 1)
  expect(lines).toHaveLength(3)
  expect(JSON.stringify(lines)).not.toContain('guess')
})

/** Real connections take real time, on a busy machine more of it. */
const LATE = { timeout: 20_000 }

/** A connection that asks with a wrong token, and what becomes of it. */
async function guessing(world: World): Promise<{ readonly closed: () => boolean; readonly answer: () => string }> {
  const { hostname, port } = new URL(await world.url())
  const socket = connect({ host: hostname, port: Number(port) })
  onTestFinished(() => void socket.destroy())
  let answer = ''
  let closed = false
  socket.on('data', (chunk) => (answer += chunk))
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
  })
  socket.write('POST /v1/acquire HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 2\r\n\r\n{}')
  return { closed: () => closed, answer: () => answer }
}

test('no more than fifty answers of one address wait: beyond that its connections are closed', async () => {
  const world = guardedWorld()
  const all: Awaited<ReturnType<typeof guessing>>[] = []
  for (let count = 0; count < 5 + 50 + 20; count++) all.push(await guessing(world))
  await expect.poll(() => all.filter(({ closed }) => closed()).length, LATE).toBe(20)
  expect(all.filter(({ answer }) => answer() !== '')).toHaveLength(5)
  expect(await world.ask('root')).toBe(200)
  await world.clock.advance(1_000)
  await expect.poll(() => all.filter(({ answer }) => answer().startsWith('HTTP/1.1 401')).length, LATE).toBe(55)
  // There is room again.
  const next = await guessing(world)
  await quiet()
  expect(next.closed()).toBe(false)
  await world.clock.advance(1_000)
  await expect.poll(() => next.answer(), LATE).toContain('401')
  expect(world.lines.filter(([message]) => message !== 'wrong tokens')).toEqual([])
})

test('the upgrade to a stream is slowed down like any other request', async () => {
  const world = guardedWorld()
  await guess(world.ask, 5)
  const headers = { authorization: 'Bearer wrong' }
  const webSocket = new WebSocket(`${(await world.url()).replace('http', 'ws')}/v1/stream`, { headers })
  webSocket.on('error', () => {})
  const refused = new Promise<number | undefined>((resolve) =>
    webSocket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode)),
  )
  await roundTrips(world)
  expect(await isDone(refused)).toBe(false)
  await world.clock.advance(1_000)
  expect(await refused).toBe(401)
})

/** Without a server, for more addresses than there is room for. */
function newWrongTokens() {
  const lines: Readonly<Record<string, unknown>>[] = []
  const clock = new SimulatedClock()
  const wrongTokens = new WrongTokens({ timers: clock, log: logTo((_, __, fields) => lines.push(fields)) })
  let closed = 0
  const guessFrom = (remoteAddress: string) => {
    const connection = Object.assign(new PassThrough(), { remoteAddress })
    connection.on('close', () => closed++)
    void wrongTokens.slow(new UnknownToken(), connection)
  }
  return { lines, clock, guessFrom, closed: () => closed }
}

test('no more than ten thousand addresses are remembered', async () => {
  const { guessFrom, clock, lines } = newWrongTokens()
  for (let at = 0; at < 10_500; at++) guessFrom(`10.0.${at >> 8}.${at & 255}`)
  await clock.advance(60_000)
  expect(lines.map(({ count, networks }) => [count, networks])).toEqual([
    [1, 1],
    [10_499, 10_000],
  ])
})

test('no more than a thousand answers wait, wherever they came from', async () => {
  const { guessFrom, closed, clock } = newWrongTokens()
  const guessAll = (network: number) => {
    for (let at = 0; at < 55; at++) guessFrom(`10.0.0.${network}`)
  }
  for (let network = 0; network < 30; network++) guessAll(network)
  await settled()
  expect(closed()).toBe(500)
  await clock.advance(1_000)
  guessAll(200)
  await settled()
  expect(closed()).toBe(500)
})
