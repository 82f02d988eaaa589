import type { Contention, ResourceView, WaiterPage } from '@baton-lock/core'

const TIMES = ['atMs', 'sinceMs', 'claimByMs', 'expiresAtMs', 'renewedAtMs', 'untilMs']

/** A view of a resource whose times are so much later: for those who are shown them beside another clock than the one that counts for it. */
export function viewLater(view: ResourceView, byMs: number): ResourceView {
  if (byMs === 0) return view
  const { grants, waiters, kept, recent, pauses } = view
  return {
    ...view,
    grants: later(grants, byMs),
    waiters: later(waiters, byMs),
    kept: later(kept, byMs),
    recent: later(recent, byMs),
    pauses: later(pauses, byMs),
  }
}

/** The same of a page of those who wait. */
export function pageLater(page: WaiterPage, byMs: number): WaiterPage {
  return byMs === 0 ? page : { ...page, waiters: later(page.waiters, byMs) }
}

/** The same of who waits for whom. */
export function contentionLater({ holders, blocked }: Contention, byMs: number): Contention {
  if (byMs === 0) return { holders, blocked }
  return {
    holders: later(holders, byMs),
    blocked: later(blocked, byMs).map((each) => ({ ...each, by: later(each.by, byMs) })),
  }
}

function later<Entry extends object>(entries: readonly Entry[], byMs: number): readonly Entry[] {
  return entries.map((entry) => {
    const times = Object.entries(entry).filter(([name]) => TIMES.includes(name))
    return { ...entry, ...Object.fromEntries(times.map(([name, ms]) => [name, ms + byMs])) }
  })
}
