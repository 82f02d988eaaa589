import { type Filter, NO_FILTER, STATES } from './list/filter.ts'
import { BY_URGENCY, ORDERS, type Order } from './list/order.ts'
import type { Address } from './name.ts'

/** Where the page is. It stands behind the # of the address: servers and logs do not see it, and it can be sent to others. */
export type PageRoute =
  | { readonly page: 'list'; readonly filter: Filter; readonly order: Order }
  | ({ readonly page: 'resource' } & Address)
  | { readonly page: 'events' }

const TEXTS = ['namespace', 'operation', 'node'] as const

export function routeFrom(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  const parts = path.split('/').map(decoded)
  if (parts[1] === 'r' && parts.length === 4 && parts[2] && parts[3])
    return { page: 'resource', namespace: parts[2], resource: parts[3] }
  if (parts[1] === 'events') return { page: 'events' }
  const said = new URLSearchParams(query)
  const [by = '', direction] = (said.get('order') ?? '').split('-')
  return {
    page: 'list',
    filter: {
      ...NO_FILTER,
      text: said.get('q') ?? '',
      state: STATES.find((state) => state === said.get('state')) ?? 'all',
      ...Object.fromEntries(TEXTS.map((name) => [name, said.get(name) ?? ''])),
    },
    order: { by: ORDERS.find((order) => order === by) ?? BY_URGENCY.by, isReversed: direction === 'reversed' },
  }
}

export function hashOf(route: PageRoute): string {
  if (route.page === 'events') return '#/events'
  if (route.page === 'resource')
    return `#/r/${encodeURIComponent(route.namespace)}/${encodeURIComponent(route.resource)}`
  const { filter, order } = route
  const said = new URLSearchParams()
  if (filter.text !== '') said.set('q', filter.text)
  if (filter.state !== 'all') said.set('state', filter.state)
  for (const name of TEXTS) if (filter[name] !== '') said.set(name, filter[name])
  if (order.by !== BY_URGENCY.by || order.isReversed)
    said.set('order', order.by + (order.isReversed ? '-reversed' : ''))
  const query = said.toString()
  return query === '' ? '#/' : `#/?${query}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
