import { writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { type Acquire, type Command, defaultNamespacePolicy } from '@baton-lock/core'
import { linearize, type Operation } from '@baton-lock/faults/history/linearizability'
import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import { type Cast, drawCommand, type Holder } from '@baton-lock/store/conformance/random-commands'
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

const CAST: Cast = {
  nodes: ['n0', 'n1', 'n2', 'n3'],
  operations: ['lock', 'lock', 'pull', 'update', 'delete'],
  sessions: ['s'],
}

interface Sent extends Operation {
  readonly resource: string
}

/** What the clients together know of a resource, by what they have been answered. */
class Known {
  readonly asked: Acquire[] = []
  readonly fences: number[] = []
  grants: Holder[] = []

  take(command: Command, reply: { readonly status: string; readonly fence?: number }): void {
    if (command.type === 'acquire') this.asked.push(command)
    if (command.type === 'acquire' && reply.status === 'granted') {
      const { operation, node, owner } = command
      const fence = reply.fence!
      if (!this.fences.includes(fence)) this.fences.push(fence)
      this.#end(operation)
      this.grants.push({ operation, node, owner, fence, claimed: true })
    }
    if (command.type === 'release' && reply.status === 'released') this.#end(command.operation)
    if (command.type === 'revoke' && reply.status === 'revoked') this.#end(command.operation)
  }

  #end(operation: string): void {
    this.grants = this.grants.filter((each) => each.operation !== operation)
  }
}

/**
 * A command of those that all tests draw: one that a request can carry, without what depends on time, which the search for an order
 * does not know.
 */
function draw(random: Random, known: Known): Command {
  for (;;) {
    const command = drawCommand(random, CAST, known)
    if (!CARRIED.has(command.type)) continue
    // Only clients of the classic paths release without a fence.
    if (command.type === 'release' && command.fence === undefined) continue
    if (command.type !== 'acquire') return command
    const { session: _, waitMs: __, classic: ___, ...ask } = command
    return { ...ask, ttlMs: TTL_MS, placeTtlMs: TTL_MS }
  }
}

const CARRIED = new Set<Command['type']>([
  'acquire',
  'release',
  'renew',
  'cancel',
  'revoke',
  'forget',
  'progress',
  'add-reference',
  'release-reference',
])

const paths: Readonly<Record<string, string>> = {
  'add-reference': '/v1/references/add',
  'release-reference': '/v1/references/release',
}

async function send(url: string, resource: string, command: Command, giveUpAfterMs: number): Promise<Sent> {
  // A place in line of a request without a session lives for as long as the server thinks right.
  const { type, placeTtlMs: _, ...body } = command as Command & { readonly placeTtlMs?: number }
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
  const known = new Map(RESOURCES.map((resource) => [resource, new Known()]))
  const client = async (index: number) => {
    const random = seededRandom(seed * 100 + index)
    while (sent.length < OPERATIONS) {
      const resource = random.pick(RESOURCES)
      const command = draw(random, known.get(resource)!)
      const record = await send(url, resource, command, random.chance(0.03) ? 1 : 30_000)
      sent.push(record)
      known.get(resource)!.take(command, (record.reply ?? { status: 'unknown' }) as { status: string })
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
