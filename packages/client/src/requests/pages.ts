import type { GrantView, WaiterView } from '@baton-lock/core'
import type { ResourceStatus } from '../api.ts'
import type { InputOf } from '../connection/transport.ts'
import type { Sender } from './sender.ts'

/** All resources of a query that are not idle, page by page. */
export async function* allResources(
  sender: Sender,
  query: Omit<InputOf<'list-resources'>, 'type' | 'after' | 'limit'>,
): AsyncGenerator<ResourceStatus> {
  let after: string | undefined
  do {
    const page = await sender.query<'list-resources'>({ type: 'list-resources', ...query, after })
    for (const view of page.resources) yield { ...view, nowMs: page.nowMs }
    after = page.next
  } while (after !== undefined)
}

/** All waiters of a resource, page by page. */
export async function allWaiters(
  sender: Sender,
  { namespace, resource }: { readonly namespace: string; readonly resource: string },
): Promise<readonly WaiterView[]> {
  const all: WaiterView[] = []
  let after: number | undefined
  do {
    const page = await sender.query<'list-waiters'>({ type: 'list-waiters', namespace, resource, after })
    all.push(...page.waiters)
    after = page.next
  } while (after !== undefined)
  return all
}

/** The grants of other operations on the same resource. */
export async function otherHolders(
  sender: Sender,
  {
    namespace,
    resource,
    operation,
  }: { readonly namespace: string; readonly resource: string; readonly operation: string },
): Promise<readonly GrantView[]> {
  const reply = await sender.query<'get-resource'>({ type: 'get-resource', namespace, resource })
  return reply.resource.grants.filter((grant) => grant.operation !== operation)
}
