import type { Skip } from '../core/index.ts'
import type { Lock, LockOptions, RunContext } from './api.ts'
import { Asker } from './asker.ts'
import { GrantLostError } from './errors.ts'
import type { OpenGrant } from './open-grant.ts'
import { contextOf } from './run.ts'
import { heldTraced, workTraced } from './traces/work-span.ts'
import type { Wiring } from './wiring.ts'

/** A plain fair mutex: whatever happens under it, leaving it is its normal end. */
export function lock(wiring: Wiring, resource: string, options: LockOptions): Promise<HeldLock> {
  return ask(wiring, resource, options).then((answer) => new HeldLock(heldTraced(wiring, grantIn(answer))))
}

function ask(wiring: Wiring, resource: string, options: LockOptions): Promise<OpenGrant | Skip> {
  return new Asker(wiring, { operation: 'lock', resource }, options).ask()
}

function grantIn(answer: OpenGrant | Skip): OpenGrant {
  // Only a row that somebody has changed skips: then there is nothing to exclude others from.
  if (answer.status === 'skip')
    throw new GrantLostError(`the operation lock skips: its row of the policy is not a mutex`)
  return answer
}

type Callback<Result> = (context: RunContext) => Result | Promise<Result>

/** Runs the callback under the lock and resolves to what it returns. */
export async function lockAround<Result>(
  wiring: Wiring,
  resource: string,
  { callback, options }: { callback: Callback<Result>; options: LockOptions },
): Promise<Result> {
  const grant = grantIn(await ask(wiring, resource, options))
  // Awaited, as a promise that is returned takes two more turns.
  return await workTraced(wiring, grant, () => runUnder(new HeldLock(grant), callback))
}

async function runUnder<Result>(held: HeldLock, callback: Callback<Result>): Promise<Result> {
  try {
    const result = await callback(held.context)
    if (held.lost) throw held.lost
    return result
  } catch (error) {
    if (held.lost && error !== held.lost) throw new GrantLostError(held.lost.message, { cause: error })
    throw error
  } finally {
    await held[Symbol.asyncDispose]()
  }
}

class HeldLock implements Lock {
  readonly #grant: OpenGrant
  #released: Promise<void> | undefined

  constructor(grant: OpenGrant) {
    this.#grant = grant
  }

  get context(): RunContext {
    return contextOf(this.#grant)
  }

  get lost(): GrantLostError | undefined {
    return this.#grant.lost
  }

  get resource(): string {
    return this.#grant.resource
  }

  get node(): string {
    return this.#grant.node
  }

  get owner(): string {
    return this.#grant.owner
  }

  get fence(): number {
    return this.#grant.fence
  }

  get signal(): AbortSignal {
    return this.#grant.signal
  }

  release(): Promise<void> {
    this.#released ??= this.#grant.succeed()
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => {})
  }
}
