import type { ResourceStatus } from './api.ts'
import type { Contact } from './contact.ts'
import type { InputOf } from './transport.ts'

/** All resources that are not idle and that a query wants, a page at a time. */
export async function* allResources(
  contact: Contact,
  query: Omit<InputOf<'list-resources'>, 'type' | 'after' | 'limit'>,
): AsyncGenerator<ResourceStatus> {
  let after: string | undefined
  do {
    const page = await contact.demand<'list-resources'>({ type: 'list-resources', ...query, after })
    for (const view of page.resources) yield { ...view, nowMs: page.nowMs }
    after = page.next
  } while (after !== undefined)
}
