import { writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { type Command, defaultNamespacePolicy } from '@baton-lock/core'
import { linearize, type Operation } from '@baton-lock/faults/history/linearizability'
import { type Random, seededRandom } from '@baton-lock/store/conformance'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { killRest, openFolder, startServer } from './cli-process.ts'

afterAll(killRest)

const CLIENTS = 8
const OPERATIONS = 300
const RESOURCES = ['x', 'y', 'z']
const TTL_MS = 600_000
/** Waiters' answers are kept for 10 s: what takes longer is not the history that the search is for. */
const LONGEST_MS = 8_000
const CLAIM_MS = 600_000
const policy = { ...defaultNamespacePolicy, claimMs: CLAIM_MS }

interface Sent extends Operation {
  readonly resource: string
}

/** What a client knows of one of its asks. */
interface Ask {
  readonly resource: string
  readonly operation: string
  readonly hold: string
  fence?: number
}

/** Without all that depends on time, which the search for an order does not know. */
function drawCommand(random: Random, owner: string, asks: Ask[], newHold: () => string): Ask & { command: Command } {
  const fresh = (): Ask => {
    const operation = random.pick(['lock', 'lock', 'pull', 'update', 'delete'])
    const ask = { resource: random.pick(RESOURCES), operation, hold: newHold() }
    asks.push(ask)
    return ask
  }
  const ask = asks.length > 0 && random.chance(0.7) ? random.pick(asks) : fresh()
  const { operation, hold, fence } = ask
  const again: Command = {
    type: 'acquire',
    operation,
    node: owner,
    owner,
    hold,
    ttlMs: TTL_MS,
    reference: random.chance(0.2),
    dropReference: operation === 'delete',
  }
  if (random.chance(0.05)) return { ...ask, command: { type: 'cancel', operation, owner, hold } }
  if (random.chance(0.05)) return { ...ask, command: { type: 'add-reference', node: owner } }
  if (random.chance(0.1)) return { ...ask, command: { type: 'release-reference', node: owner } }
  if (fence === undefined || random.chance(0.2)) return { ...ask, command: again }
  if (random.chance(0.1)) return { ...ask, command: { type: 'renew', operation, owner, fence } }
  const outcome = random.pick([
    { outcome: 'success' },
    { outcome: 'success', result: random.integer(9) },
    { outcome: 'failure', error: 'broken' },
    { outcome: 'failure', error: 'broken for good', permanent: true },
  ] as const)
  return { ...ask, command: { type: 'release', operation, owner, hold, fence, ...outcome } }
}

const paths: Readonly<Record<string, string>> = {
  'add-reference': '/v1/references/add',
  'release-reference': '/v1/references/release',
}

async function send(url: string, resource: string, { type, ...body }: Command, giveUpAfterMs: number): Promise<Sent> {
  // A place in line of a request without a session lives for as long as the server thinks right.
  const command = { type, ...body, ...(type === 'acquire' && { placeTtlMs: TTL_MS }) } as Command
  const invokedAt = performance.now()
  try {
    const signal = AbortSignal.timeout(giveUpAfterMs)
    const path = paths[type] ?? `/v1/${type}`
    const answer = await fetch(url + path, { method: 'POST', body: JSON.stringify({ resource, ...body }), signal })
    const reply = (await answer.json()) as object
    return { resource, command, invokedAt, returnedAt: performance.now(), reply }
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') throw error
    return { resource, command, invokedAt }
  }
}

/** What eight clients at once ask of a real server, and are answered. */
async function play(url: string, seed: number): Promise<Sent[]> {
  const sent: Sent[] = []
  let holds = 0
  let begun = 0
  const client = async (index: number) => {
    const random = seededRandom(seed * 100 + index)
    const asks: Ask[] = []
    while (begun++ < OPERATIONS) {
      const drawn = drawCommand(random, `n${index}`, asks, () => `h${++holds}`)
      const record = await send(url, drawn.resource, drawn.command, random.chance(0.03) ? 1 : 30_000)
      sent.push(record)
      const reply = (record.reply ?? { status: 'unknown' }) as { status: string; fence?: number }
      const at = asks.findIndex(({ hold }) => hold === drawn.hold)
      const isAcquire = drawn.command.type === 'acquire'
      if (isAcquire && reply.status === 'granted') asks[at]!.fence = reply.fence
      // Asks that are over are asked about now and then: they must stay over.
      else if (isAcquire && reply.status !== 'queued' && random.chance(0.7)) asks.splice(at, 1)
      else if (drawn.command.type === 'release' && random.chance(0.7)) asks.splice(at, 1)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)))
  return sent
}

async function freshServer() {
  const folder = openFolder()
  writeFileSync(folder.path('config.toml'), `[policy.namespaces.default]\nclaimMs = ${CLAIM_MS}\n`)
  const server = await startServer(['--config', folder.path('config.toml')])
  onTestFinished(async () => {
    await server.stop()
    folder.remove()
  })
  return server
}

const EXPECTED = ['granted', 'queued', 'released', 'refused', 'skip']
/** A seed whose run was too slow, or drew no reply of some status, is followed by another one. */
const MOST_SEEDS = 8

test('what a real server answers to eight clients at once is linearizable against the naive model', async () => {
  const statuses = new Set<string | undefined>()
  for (let seed = 1; !EXPECTED.every((status) => statuses.has(status)); seed++) {
    expect(seed, `statuses so far: ${[...statuses].join(', ')}`).toBeLessThanOrEqual(MOST_SEEDS)
    const server = await freshServer()
    const startMs = performance.now()
    const sent = await play(server.url, seed)
    // The model forgets nothing, and the server does after a while: a slower run cannot be compared.
    if (performance.now() - startMs > LONGEST_MS) continue
    for (const { reply } of sent) statuses.add((reply as { status: string } | undefined)?.status)
    for (const resource of RESOURCES) {
      const ofIt = sent.filter((each) => each.resource === resource)
      const result = linearize(ofIt, { policy })
      const tale = result.linearizable ? '' : JSON.stringify({ stuck: result.stuck, last: result.order.slice(-12) })
      expect(result.linearizable, `seed ${seed}, ${resource}, ${result.order.length} of ${ofIt.length}: ${tale}`).toBe(
        true,
      )
    }
  }
}, 120_000)
