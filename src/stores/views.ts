import {
  type AskName,
  type Context,
  lateSkip,
  type Resource,
  type ResourceView,
  type SessionLease,
  type Skip,
  type Standing,
  sessionsOfGrants,
  standingOf,
  viewOf,
  type WaiterPage,
  waitersOf,
  withLeases,
} from '../core/index.ts'
import type { Address, AskAt } from './store.ts'

/** What is read off a resource that is looked at. */
export type View<Result> = (resource: Resource, context: Context) => Result

/** By session. */
export type Leases = ReadonlyMap<string, SessionLease>

/** The questions about one resource that every store answers alike, given how it looks at one. */
export abstract class Views {
  /**
   * Looks at a resource as it is now, its due deadlines applied; nothing where there is none. `asks`: those whose
   * memories the view will want.
   */
  protected abstract inspect<Result>(
    address: Address,
    view: View<Result>,
    asks?: readonly AskName[],
  ): Promise<Result | undefined>

  /** The leases of those of these sessions that are known to be alive. */
  protected abstract leasesOf(sessions: readonly string[]): Leases | Promise<Leases>

  async read(address: Address, waiterLimit?: number): Promise<ResourceView | undefined> {
    const look = (resource: Resource) => ({ view: viewOf(resource, waiterLimit), sessions: sessionsOfGrants(resource) })
    const found = await this.inspect(address, look)
    if (!found) return undefined
    const { view, sessions } = found
    const wanted = sessions.flat()
    const leases = wanted.length > 0 ? await this.leasesOf(wanted) : undefined
    return leases ? withLeases(view, sessions, (session) => leases.get(session)) : view
  }

  async waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage> {
    return (await this.inspect(address, (resource) => waitersOf(resource, page))) ?? { waiters: [] }
  }

  async standing(ask: AskAt): Promise<Standing> {
    const standing = await this.inspect(ask, (resource, context) => standingOf(resource, context, ask), [ask])
    return standing ?? { status: 'nothing' }
  }

  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.inspect(address, (resource, context) => lateSkip(resource, context, operation))
  }
}
