import {
  type AskName,
  type Contention,
  type Context,
  contentionOf,
  lateSkip,
  type PlacesOfSession,
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
} from '@baton-lock/core'
import { contentionLater, pageLater, viewLater } from './shown-times.ts'
import type { Address, AskAt } from './store.ts'

/** What is read off a resource that is looked at. `behindMs`: how far its time is behind the store's own, where each resource has its own. */
export type View<Result> = (resource: Resource, context: Context, behindMs?: number) => Result

/** What is shown of a resource, and the sessions that keep its grants alive. */
export interface Shown {
  readonly view: ResourceView
  readonly sessions: readonly (readonly string[])[]
}

/** Shows so many of its waiters. */
export function shownOf(waiterLimit?: number): View<Shown> {
  return (resource, _, behindMs = 0) => ({
    view: viewLater(viewOf(resource, waiterLimit), behindMs),
    sessions: sessionsOfGrants(resource),
  })
}

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
    const found = await this.inspect(address, shownOf(waiterLimit))
    if (!found) return undefined
    const { view, sessions } = found
    const wanted = sessions.flat()
    const leases = wanted.length > 0 ? await this.leasesOf(wanted) : undefined
    return leases ? withLeases(view, sessions, (session) => leases.get(session)) : view
  }

  async contention(address: Address, of?: PlacesOfSession): Promise<Contention> {
    const view: View<Contention> = (resource, context, behindMs = 0) =>
      contentionLater(contentionOf(resource, context, of), behindMs)
    return (await this.inspect(address, view)) ?? { holders: [], blocked: [] }
  }

  async waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage> {
    const view: View<WaiterPage> = (resource, _, behindMs = 0) => pageLater(waitersOf(resource, page), behindMs)
    return (await this.inspect(address, view)) ?? { waiters: [] }
  }

  async standing(ask: AskAt): Promise<Standing> {
    const standing = await this.inspect(ask, (resource, context) => standingOf(resource, context, ask), [ask])
    return standing ?? { status: 'nothing' }
  }

  lateSkip(address: Address, operation: string): Promise<Skip | undefined> {
    return this.inspect(address, (resource, context) => lateSkip(resource, context, operation))
  }
}
