import {
  type AskName,
  type Context,
  lateSkip,
  type Resource,
  type ResourceView,
  type Skip,
  type Standing,
  standingOf,
  viewOf,
  type WaiterPage,
  waitersOf,
} from '../core/index.ts'
import type { Address, AskAt } from './store.ts'

/** What is read off a resource that is looked at. */
export type View<Result> = (resource: Resource, context: Context) => Result

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

  read(address: Address, waiterLimit?: number): Promise<ResourceView | undefined> {
    return this.inspect(address, (resource) => viewOf(resource, waiterLimit))
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
