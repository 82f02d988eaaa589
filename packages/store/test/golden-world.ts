import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Command, completePolicy, type SaidPolicy, SHARED_HOLD, saidIn } from '@baton-lock/core'
import { expect } from 'vitest'
import { type Address, durableStep, type Place, type Store } from '../src/store.ts'

/*
 * Stores with a bit of everything in them are kept in test/fixtures/golden as they were written, with what they said of it. A copy
 * that is opened has to say the same. `npm run golden:rewrite` writes all of it anew, after a change of a format; review the diff.
 */

export const golden = fileURLToPath(new URL('../../../test/fixtures/golden/', import.meta.url))
export const isRewritten = process.env.REWRITE !== undefined

interface Said {
  readonly nowMs: number
  readonly policy: { readonly version: number; readonly policy: SaidPolicy }
  readonly sessions: readonly { readonly session: string; readonly places: readonly object[] | null }[]
  readonly views: Readonly<Record<string, object | null>>
  readonly standings: readonly [Parameters<Store['standing']>[0], object][]
}

export const said = (): Said => JSON.parse(readFileSync(`${golden}said.json`, 'utf8'))

export const BEGIN_MS = 1_700_000_000_000
const HOUR_MS = 3_600_000
/** So long that nothing runs out while somebody looks. */
const LONG_MS = 10_000_000

const operations = {
  compile: { attempts: 5, retryDelayMs: HOUR_MS, keepMs: HOUR_MS, waitersOnSuccess: 'skip' as const },
}
const team = { exclusion: 'resource' as const }
export const configured = completePolicy({ namespaces: { default: { operations }, team } })
const applied = completePolicy({
  namespaces: { default: { operations: { ...operations, bake: { attempts: 2 } } }, team },
})

/** Where a test lets time pass. */
export class Hours {
  #nowMs: number
  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }
  nowMs(): number {
    return this.#nowMs
  }
  pass(hours: number): void {
    this.passMs(hours * HOUR_MS)
  }
  passMs(ms: number): void {
    this.#nowMs += ms
  }
}

type More = Partial<Extract<Command, { type: 'acquire' }>> & { readonly namespace?: string }

/** The calls of a store, each at a moment of its own. */
function callsOf(store: Store, hours: Hours) {
  const step = (name: string, command: Command) => {
    hours.passMs(10)
    return durableStep(store, addressOf(name), command)
  }
  const ask = (name: string, operation: string, node: string, more: More = {}) =>
    step(name, { ...acquire(operation, node), ttlMs: LONG_MS, ...more })
  const end = (name: string, operation: string, node: string, outcome: object = { outcome: 'success' }) =>
    step(name, { type: 'release', operation, owner: `${node}-owner`, hold: '1', ...outcome } as Command)
  return { step, ask, end }
}

const failure = { outcome: 'failure', error: 'exit code 1' } as const

/** Writes the history of the golden stores from `BEGIN_MS` on; returns what the store says of it. */
export async function write(store: Store, hours: Hours, between = async () => {}): Promise<Said> {
  await writeFirst(store, hours)
  await between()
  await writeSecond(store, hours)
  return sayAll(store, hours)
}

/** What is there before the log of a second directory turns over. */
async function writeFirst(store: Store, hours: Hours): Promise<void> {
  const { step, ask, end } = callsOf(store, hours)
  await store.applyPolicy(applied, (await store.policy()).version)
  for (const each of ['1', '2', '3']) await store.openSession({ session: `s${each}`, node: `n${each}`, ttlMs: LONG_MS })
  // Two grants, and then so long a time that nothing but the fence is known.
  await ask('forgotten', 'lock', 'n1')
  await ask('forgotten', 'lock', 'n2')
  await end('forgotten', 'lock', 'n1')
  await ask('forgotten', 'lock', 'n2')
  await end('forgotten', 'lock', 'n2')
  hours.passMs(70_000)
  await store.sweep(100)
  await writeCorners(store, hours)
  // Held, with a line: by sessions and without, of a revision, and with a limit to the wait.
  await ask('held', 'lock', 'n1', { session: 's1' })
  const progress = { done: 0.5, ü: [1, null] }
  await step('held', { type: 'progress', operation: 'lock', owner: 'n1-owner', fence: 1, progress })
  await ask('held', 'lock', 'n2', { session: 's2' })
  await ask('held', 'lock', 'n3', { waitMs: LONG_MS })
  await ask('held', 'update', 'n3', { session: 's3', revision: 'v 2' })
  // Entered twice by one owner, once without a session.
  await ask('entered', 'lock', 'n1', { session: 's1' })
  await ask('entered', 'lock', 'n1', { hold: '2' })
  // Done, with results, and references of those who did it and who skipped.
  await ask('kept', 'pull', 'n1')
  await ask('kept', 'pull', 'n2')
  await end('kept', 'pull', 'n1', { outcome: 'success', result: { bytes: 42, where: 'ä/b' } })
  await ask('kept', 'once', 'n1', { revision: 'r1' })
  await end('kept', 'once', 'n1', { outcome: 'success', result: 'twice', keepMs: HOUR_MS })
  await step('referenced', { type: 'add-reference', node: 'n1' })
  await step('referenced', { type: 'add-reference', node: 'n4' })
  await step('referenced', { type: 'release-reference', node: 'n4' })
}

/** What is done after that. */
async function writeSecond(store: Store, hours: Hours): Promise<void> {
  const { step, ask, end } = callsOf(store, hours)
  // A failure, after which the queue is paused.
  await ask('paused', 'compile', 'n1')
  await ask('paused', 'compile', 'n2', { session: 's2' })
  await end('paused', 'compile', 'n1', failure)
  // Failed for good, and revoked.
  await ask('failed', 'pull', 'n1')
  await ask('failed', 'pull', 'n2')
  await end('failed', 'pull', 'n1', { ...failure, permanent: true })
  await ask('revoked', 'lock', 'n1')
  await step('revoked', { type: 'revoke', operation: 'lock' })
  // One grant for the whole resource.
  await ask('team/shared', 'delete', 'n1', { session: 's1' })
  await ask('team/shared', 'pull', 'n2')
  await ask('team/shared', 'update', 'n3')
  // Forgotten but for its fence.
  await ask('idle', 'lock', 'n1')
  await end('idle', 'lock', 'n1')
  await step('idle', { type: 'acknowledge', operation: 'lock', owner: 'n1-owner', hold: '1' })
  // Handed over, and not yet claimed. At the end, as there is little time for that.
  await ask('unclaimed', 'lock', 'n1')
  await ask('unclaimed', 'lock', 'n2', { session: 's2' })
  await end('unclaimed', 'lock', 'n1')
  await store.closeSession('s3')
}

/** Rules that were gone about wrongly once, each followed by a grant whose fence shows it. */
async function writeCorners(store: Store, hours: Hours): Promise<void> {
  const { step, ask, end } = callsOf(store, hours)
  // While a delete runs nobody is told to skip, not on what is kept and not by a look of its own, and no reference is added.
  for (const [name, more] of [
    ['past-delete', {}],
    ['verified', { verified: true }],
  ] as const) {
    await ask(name, 'pull', 'n1', { reference: false })
    await end(name, 'pull', 'n1')
    await ask(name, 'delete', 'n3')
    await ask(name, 'pull', 'n2', more)
    await step(name, { type: 'add-reference', node: 'n4' })
    await end(name, 'delete', 'n3', failure)
    await ask(name, 'lock', 'n4')
  }
  // A delete drops the references that came in meanwhile.
  await ask('dropped', 'delete', 'n3')
  await ask('dropped', 'pull', 'n1')
  await end('dropped', 'pull', 'n1')
  await end('dropped', 'delete', 'n3')
  await ask('dropped', 'pull', 'n2')
  await ask('dropped', 'lock', 'n4')
  // A reference says nothing of a revision.
  await ask('revision', 'pull', 'n1', { revision: 'v1' })
  await end('revision', 'pull', 'n1')
  await ask('revision', 'pull', 'n2', { revision: 'v2' })
  await ask('revision', 'lock', 'n4')
  // An answer under the shared hold id is given once.
  await ask('shared-hold', 'compile', 'n1')
  await ask('shared-hold', 'compile', 'n2', { hold: SHARED_HOLD })
  await end('shared-hold', 'compile', 'n1', { outcome: 'success', keepMs: 0 })
  for (let times = 0; times < 2; times++) await ask('shared-hold', 'compile', 'n2', { hold: SHARED_HOLD })
  await ask('shared-hold', 'lock', 'n4')
  // An answer that a delete has made untrue is not given again.
  await ask('untrue', 'pull', 'n1')
  await ask('untrue', 'pull', 'n2')
  await end('untrue', 'pull', 'n1')
  for (const node of ['n1', 'n2']) await step('untrue', { type: 'release-reference', node })
  await ask('untrue', 'delete', 'n3')
  await end('untrue', 'delete', 'n3')
  await ask('untrue', 'pull', 'n2')
  await ask('untrue', 'lock', 'n4')
  // A late duplicate of an ask drops no reference, and one of a skip adds none.
  await ask('late', 'delete', 'n1', { dropReference: true })
  await end('late', 'delete', 'n1')
  await ask('late', 'pull', 'n1', { hold: '2' })
  await step('late', { type: 'release', operation: 'pull', owner: 'n1-owner', hold: '2', outcome: 'success' })
  await ask('late', 'delete', 'n1', { dropReference: true })
  await ask('late', 'pull', 'n2')
  await step('late', { type: 'release-reference', node: 'n2' })
  await ask('late', 'pull', 'n2')
  await ask('late', 'lock', 'n4')
  // A delete that waits drops the reference of its node once, however often it asks.
  await ask('team/waits', 'lock', 'n2')
  await ask('team/waits', 'delete', 'n1', { dropReference: true })
  await step('team/waits', { type: 'add-reference', node: 'n1' })
  await ask('team/waits', 'delete', 'n1', { dropReference: true })
  // One that is told that it holds the resource itself leaves the line.
  await ask('team/held-by-you', 'pull', 'n2')
  await ask('team/held-by-you', 'lock', 'n1')
  await ask('team/held-by-you', 'update', 'n1')
  await end('team/held-by-you', 'pull', 'n2')
  await ask('team/held-by-you', 'lock', 'n1')
  await ask('team/held-by-you', 'update', 'n1')
  await end('team/held-by-you', 'lock', 'n1')
  await ask('team/held-by-you', 'update', 'n4')
  // Taken back before it was asked.
  await step('taken-back', { type: 'cancel', operation: 'lock', owner: 'n1-owner', hold: '1' })
  await ask('taken-back', 'lock', 'n1')
  await ask('taken-back', 'lock', 'n4')
}

const RESOURCES = [
  ...['held', 'entered', 'kept', 'referenced', 'paused', 'unclaimed', 'failed', 'revoked', 'team/shared', 'forgotten'],
  ...[
    'past-delete',
    'verified',
    'dropped',
    'revision',
    'shared-hold',
    'untrue',
    'late',
    'team/waits',
    'team/held-by-you',
    'taken-back',
  ],
]
const ASKS = [
  ['held', 'lock', 'n1'],
  ['held', 'lock', 'n2'],
  ['held', 'lock', 'n3'],
  ['kept', 'pull', 'n2'],
  ['paused', 'compile', 'n2'],
  ['unclaimed', 'lock', 'n2'],
  ['failed', 'pull', 'n2'],
  ['past-delete', 'pull', 'n2'],
  ['late', 'pull', 'n2'],
] as const

/** What a store says of all that. */
export async function sayAll(store: Store, hours: Hours): Promise<Said> {
  const views: Record<string, object | null> = {}
  for (const name of RESOURCES) {
    const view = await store.read(addressOf(name))
    // A file store that is opened gives every lease its whole time again.
    const grants = view?.grants.map(({ expiresAtMs, renewedAtMs, claimByMs, ...grant }) => grant)
    views[name] = view ? { ...view, grants } : null
  }
  const standings: [Parameters<Store['standing']>[0], object][] = []
  for (const [resource, operation, node] of ASKS) {
    const asked = { namespace: 'default', resource, operation, node, owner: `${node}-owner`, hold: '1' }
    standings.push([asked, await store.standing(asked)])
  }
  const sessions = []
  for (const session of ['s1', 's2', 's3']) {
    const places = await store.places(session)
    const inOrder = (a: Place, b: Place) => (a.resource < b.resource ? -1 : 1)
    sessions.push({ session, places: places ? [...places].sort(inOrder) : null })
  }
  const policy = await store.policy()
  return {
    nowMs: hours.nowMs(),
    policy: { version: policy.version, policy: saidIn(policy.policy) },
    sessions,
    views,
    standings,
  }
}

function addressOf(name: string): { readonly namespace: string; readonly resource: string } {
  const [namespace, resource] = (name.includes('/') ? name : `default/${name}`).split('/') as [string, string]
  return { namespace, resource }
}

const at = (resource: string, namespace = 'default') => ({ namespace, resource })
const acquire = (operation: string, node: string, more: object = {}) =>
  ({ type: 'acquire', operation, node, owner: `${node}-owner`, hold: '1', ttlMs: 30_000, ...more }) as const
const release = (operation: string, node: string, fence: number) =>
  ({ type: 'release', operation, owner: `${node}-owner`, hold: '1', fence, outcome: 'success' }) as const

/** Whatever was begun then comes to its end now. */
export async function goOnWith(store: Store, hours: Hours): Promise<void> {
  const step = <C extends Command>(address: Address, command: C) => durableStep(store, address, command)
  // What is kept is skipped on, with its result; what is used is not deleted.
  expect(await step(at('kept'), acquire('pull', 'n9'))).toMatchObject({ status: 'skip', result: { bytes: 42 } })
  const once = acquire('once', 'n9', { revision: 'r1' })
  expect(await step(at('kept'), once)).toMatchObject({ status: 'skip', result: 'twice', fence: 2 })
  expect(await step(at('referenced'), acquire('delete', 'n9'))).toEqual({ status: 'refused', code: 'in-use' })
  // A release that is repeated changes nothing; who waited is next, claims, and goes with its session.
  const ended = { status: 'released', outcome: 'success', holdsLeft: 0 }
  for (let times = 0; times < 2; times++) expect(await step(at('held'), release('lock', 'n1', 1))).toEqual(ended)
  const claim = acquire('lock', 'n2', { session: 's2' })
  expect(await step(at('held'), claim)).toMatchObject({ status: 'granted', fence: 3 })
  expect(await step(at('unclaimed'), claim)).toMatchObject({ status: 'granted', fence: 2, holds: 1 })
  expect(await step(at('paused'), acquire('compile', 'n9', { ttlMs: 80_000_000 }))).toEqual({
    status: 'queued',
    position: 2,
  })
  await store.closeSession('s2')
  expect((await store.read(at('held')))?.grants).toMatchObject([{ node: 'n3', fence: 4, claimed: false }])
  expect(await store.read(at('unclaimed'))).toMatchObject({
    grants: [],
    recent: [{ outcome: { outcome: 'cancelled' } }],
  })
  // One hold of two, and one grant for a whole resource, whose longest waiter is next.
  expect(await step(at('entered'), release('lock', 'n1', 1))).toMatchObject({ status: 'released', holdsLeft: 1 })
  expect(await step(at('shared', 'team'), release('delete', 'n1', 1))).toEqual(ended)
  expect((await store.read(at('shared', 'team')))?.grants).toMatchObject([{ operation: 'pull', node: 'n2', fence: 2 }])
  // Of what was forgotten its fence is known.
  expect(await step(at('idle'), acquire('lock', 'n9'))).toMatchObject({ status: 'granted', fence: 2 })
  // A pause ends, for the one who is still in line.
  hours.pass(1.1)
  await store.sweep(100)
  expect((await store.read(at('paused')))?.grants).toMatchObject([{ node: 'n9', fence: 2, attempt: 2 }])
  expect((await store.read(at('kept')))?.kept).toEqual([])
}
