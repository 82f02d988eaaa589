import type { AskName, Command, Policy } from '@baton-lock/core'
import { type Address, storeErrorCode } from '../store.ts'
import type { View } from '../views.ts'
import type { Backend, Change, Opened, Opening, StepRecord, Transaction, Wanted } from './backend.ts'
import type { Deliveries } from './deliveries.ts'
import { dueOf } from './document.ts'
import { letterText, type StepsLetter } from './letter.ts'
import { type Decided, type GivenCommand, type Inspected, isAcquire, OpenResource } from './open-resource.ts'
import { asksOf, distinct, NotLoaded, type Parts } from './parts.ts'
import type { StoredPolicy } from './stored-policy.ts'

/** Commands on one resource, to be run one after another. */
export interface Job {
  readonly address: Address
  readonly given: readonly GivenCommand[]
  /** By when it has to be done, by the monotonic clock. */
  readonly byMs: number
}

/** What came of a job. */
export interface Batch {
  readonly steps: readonly StepRecord[]
  /** How many more wait than before. */
  readonly waiting: number
  /** Somebody waits. */
  readonly isCrowded: boolean
}

interface StepsOptions {
  readonly policy: StoredPolicy
  readonly deliveries: Deliveries
  /** Whether a session is at this process. */
  readonly isHere: (session: string) => boolean
  /** Something may have happened that nobody was told of. */
  readonly missed: () => void
  readonly recordHistory: boolean
}

/** So many of the first waiters are read at once: whoever is next is most often among them. */
const HEADS = 4

/**
 * Runs commands on resources: one transaction, in which the resource is open, the steps are decided here by the core, and
 * all that they have changed is committed.
 */
export class Steps {
  readonly #backend: Backend
  readonly #options: StepsOptions

  constructor(backend: Backend, options: StepsOptions) {
    this.#backend = backend
    this.#options = options
  }

  run({ address, given, byMs }: Job): Promise<Batch> {
    const commands = given.map(({ command }) => command)
    return this.#backend.transaction(async (transaction) => {
      const parts = [...memoriesOf(commands), ...headsOf(commands), ...ownersOf(commands)]
      const opening = { ...openingOf(address, commands), parts }
      const opened = await transaction.open([opening], 'wait')
      return this.#inOrder([address], async () => {
        const policy = await this.#policyOf(transaction, opened)
        const open = new OpenResource(opening, opened, policy)
        const decided = await open.loadedFor(transaction, commands, () => open.decide(given))
        const to = await this.#recipients(transaction, decided, opened, open.parts)
        const done = this.#doneOf(open, decided, to)
        await transaction.commit([done.change])
        return { result: done.batch, letters: [done.letter] }
      })
    }, byMs)
  }

  /**
   * Several resources in one transaction: each that is there, that nobody else has open, and that needs no more than what
   * is read for all of them. It waits for nobody. The others are left to `run`, and nothing is changed of them.
   */
  runTogether(jobs: readonly Job[]): Promise<readonly (Batch | undefined)[]> {
    const byMs = Math.min(...jobs.map((job) => job.byMs))
    return this.#backend.transaction(async (transaction) => {
      const openings = jobs.map(({ address, given }) => {
        const commands = given.map(({ command }) => command)
        return { ...openingOf(address, commands), parts: memoriesOf(commands) }
      })
      const opened = await transaction.open(openings, 'free')
      const addresses = openings.flatMap(({ address }, index) => (opened.resources[index] ? address : []))
      return this.#inOrder(addresses, async () => {
        const policy = await this.#policyOf(transaction, opened)
        const all = openings.map((opening, index) => {
          const open = opened.resources[index] && new OpenResource(opening, opened, policy, index)
          return open && this.#withoutMore(open, jobs[index]!.given, opened.hearers)
        })
        const done = all.filter((each) => each !== undefined)
        if (done.length > 0) await transaction.commit(done.map(({ change }) => change))
        return { result: all.map((each) => each?.batch), letters: done.map(({ letter }) => letter) }
      })
    }, byMs)
  }

  /** A look at a resource as it is now; nothing where there is none, or where something is due on it first. */
  inspect<Result>(address: Address, view: View<Result>, asks: readonly AskName[] = []): Promise<Inspected<Result>> {
    return this.#backend.transaction(async (transaction) => {
      // Whoever asks after them may find them remembered, or in a queue.
      const parts: Wanted[] =
        asks.length > 0
          ? [
              { what: 'memories', asks: distinct(asks) },
              { what: 'owners', owners: asks },
            ]
          : []
      const opening = { address, sessions: [], parts }
      const opened = await transaction.open([opening], 'read')
      const open = new OpenResource(opening, opened, await this.#policyOf(transaction, opened))
      return open.loadedFor(transaction, [], () => open.inspect(view))
    })
  }

  /** Nobody here hears of these resources in another order than things have happened to them. */
  async #inOrder<Result>(
    addresses: readonly Address[],
    work: () => Promise<{ readonly result: Result; readonly letters: readonly StepsLetter[] }>,
  ): Promise<Result> {
    const { deliveries, missed } = this.#options
    deliveries.hold(addresses)
    try {
      const { result, letters } = await work()
      deliveries.release(addresses, letters)
      return result
    } catch (error) {
      // Before what came after it: nobody is told that and then of the gap.
      if (storeErrorCode(error) === 'unknown-outcome') missed()
      deliveries.release(addresses, [])
      throw error
    }
  }

  async #policyOf(transaction: Transaction, { policyVersion }: Opened): Promise<Policy> {
    return this.#options.policy.ofVersion(policyVersion, () => transaction.policy())
  }

  /** Nothing where it would have to be asked for more. */
  #withoutMore(open: OpenResource, given: readonly GivenCommand[], hearers: readonly string[]): Done | undefined {
    try {
      const decided = open.decide(given)
      if (this.#elsewhere(decided).length > 0) return undefined
      return this.#doneOf(open, decided, decided.events.length > 0 ? hearers : [])
    } catch (error) {
      if (error instanceof NotLoaded) return undefined
      throw error
    }
  }

  /** The other processes that these events are for. */
  async #recipients(
    transaction: Transaction,
    decided: Decided,
    { hearers }: Opened,
    { processes }: Parts,
  ): Promise<readonly string[]> {
    if (decided.events.length === 0) return []
    const sessions = this.#elsewhere(decided)
    const unknown = sessions.filter((session) => !processes.has(session))
    const found = unknown.length > 0 ? await transaction.processesOf(unknown) : []
    const all = new Set([...hearers, ...sessions.flatMap((session) => processes.get(session) ?? []), ...found])
    all.delete(this.#backend.process)
    return [...all]
  }

  #elsewhere({ sessions }: Decided): string[] {
    return sessions.filter((session) => !this.#options.isHere(session))
  }

  #doneOf(open: OpenResource, decided: Decided, to: readonly string[]): Done {
    const { resource, steps, events, sessions } = decided
    const dueAtMs = dueOf(resource, decided.nextActMs)
    const dueInMs = dueAtMs === undefined ? undefined : dueAtMs - open.nowMs
    const letter = { ...open.address, dueInMs, events }
    const change: Change = {
      ...open.changeOf(decided, dueAtMs),
      sessions,
      letter: to.length > 0 ? { to, text: letterText(letter) } : undefined,
      steps: this.#options.recordHistory ? steps : [],
    }
    const waiters = resource.waiters.size
    return { letter, change, batch: { steps, isCrowded: waiters > 0, waiting: waiters - decided.waitersBefore } }
  }
}

interface Done {
  readonly letter: StepsLetter
  readonly change: Change
  readonly batch: Batch
}

function openingOf(address: Address, commands: readonly Command[]): Omit<Opening, 'parts'> {
  return { address, sessions: [...new Set(commands.filter(isAcquire).flatMap(({ session }) => session ?? []))] }
}

/** What asks are remembered for is looked up before they are asked. */
function memoriesOf(commands: readonly Command[]): Wanted[] {
  const asks = distinct(commands.filter(isAcquire).flatMap(asksOf))
  return asks.length > 0 ? [{ what: 'memories', asks }] : []
}

/** Whoever asks may stand in line already. */
function ownersOf(commands: readonly Command[]): Wanted[] {
  const owners = commands.filter(isAcquire).map(({ operation, owner }) => ({ operation, owner }))
  return owners.length > 0 ? [{ what: 'owners', owners }] : []
}

/** The first of those queues whose next waiter may be wanted: not of those that are only asked for. */
function headsOf(commands: readonly Command[]): Wanted[] {
  const ending = commands.filter((command) => !isAcquire(command))
  const operations = new Set(ending.flatMap((command) => ('operation' in command ? command.operation : [])))
  return Array.from(operations, (operation) => ({ what: 'first', operation, count: HEADS }))
}
