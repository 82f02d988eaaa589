import type { WaiterView } from '../core/index.ts'
import type { Contact } from './contact.ts'

/** All who wait for a resource, however many: a page after another. */
export async function allWaiters(
  contact: Contact,
  { namespace, resource }: { readonly namespace: string; readonly resource: string },
): Promise<readonly WaiterView[]> {
  const all: WaiterView[] = []
  let after: number | undefined
  do {
    const page = await contact.demand<'list-waiters'>({ type: 'list-waiters', namespace, resource, after })
    all.push(...page.waiters)
    after = page.next
  } while (after !== undefined)
  return all
}
