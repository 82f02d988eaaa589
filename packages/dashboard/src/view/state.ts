import { signal } from '@preact/signals'
import { browserTimers, dial, token, who } from '../browser.ts'
import { Dashboard } from '../model/dashboard.ts'
import type { Filter } from '../model/list/filter.ts'
import type { Order } from '../model/list/order.ts'
import { hashOf, type PageRoute, routeFrom } from '../model/route.ts'
import type { ConfirmSpec } from './confirm.tsx'

/** The one dashboard of this page. */
export const dashboard = new Dashboard({ timers: browserTimers, dial, who })

/** What is asked before it is done. */
export const confirming = signal<ConfirmSpec | undefined>(undefined)
export const isHelpOpen = signal(false)

/** For those who do not see the page; important changes only. */
export const announced = signal('')

export function begin(): void {
  const follow = () => dashboard.go(routeFrom(location.hash))
  window.addEventListener('hashchange', follow)
  document.addEventListener('visibilitychange', () => {
    dashboard.isVisible = document.visibilityState === 'visible'
  })
  window.addEventListener('online', () => {
    dashboard.isVisible = true
  })
  follow()
  dashboard.start()
}

export function go(route: PageRoute): void {
  location.hash = hashOf(route)
}

/** Another filter or order of the list; without a step in the history of the browser for every letter. */
export function narrow(change: { filter?: Partial<Filter>; order?: Order }): void {
  const route = listRoute()
  const next: PageRoute = {
    page: 'list',
    filter: { ...route.filter, ...change.filter },
    order: change.order ?? route.order,
  }
  if (dashboard.route.value.page !== 'list') {
    go(next)
    return
  }
  history.replaceState(null, '', hashOf(next))
  dashboard.go(next)
}

let lastList: Extract<PageRoute, { page: 'list' }> | undefined

/** Of the list, as it is or was last. */
export function listRoute(): Extract<PageRoute, { page: 'list' }> {
  const route = dashboard.route.value
  if (route.page === 'list') lastList = route
  return lastList ?? (routeFrom('') as Extract<PageRoute, { page: 'list' }>)
}

export function signIn(secret: string): void {
  token.set(secret)
  void dashboard.stream.connect()
}

export function signOut(): void {
  token.set(undefined)
  dashboard.forgetAll()
  dashboard.stream.signOut()
}
