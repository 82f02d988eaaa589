import type { Command, Grant, Lease } from '../../core/index.ts'
import type { ResourceInRows } from './resource-row.ts'

/** What hangs off a session under one key and owner. */
export interface SessionPlace {
  readonly session: string
  readonly operation: string
  readonly owner: string
}

/** Keeps `baton_places` as the resource has them: seen before the steps, and once more after them. */
export class SessionPlaces {
  readonly #before: Map<string, SessionPlace>

  constructor({ grants }: ResourceInRows) {
    this.#before = ofGrants(grants.values())
  }

  /** Which rows are new, and which have to go. */
  changes(resource: ResourceInRows, commands: readonly Command[]): Readonly<Record<'added' | 'gone', SessionPlace[]>> {
    const { appended, removed, renewed } = resource.waiters.changes
    const before = new Map(this.#before)
    const after = ofGrants(resource.grants.values())
    for (const waiter of [...removed, ...renewed]) put(before, waiter, resource.waiters.original(waiter)?.lease)
    for (const waiter of [...appended, ...renewed]) put(after, waiter, waiter.lease)
    // What a lost session has is gone for good, whatever the row said.
    for (const command of commands)
      if (command.type === 'session-lost' || command.type === 'leave') put(before, command, command)
    const isNew = ([name]: [string, SessionPlace]) => !before.has(name)
    const isGone = ([name]: [string, SessionPlace]) => !after.has(name)
    return {
      added: [...after].filter(isNew).map(([, place]) => place),
      gone: [...before].filter(isGone).map(([, place]) => place),
    }
  }
}

function ofGrants(grants: Iterable<Grant>): Map<string, SessionPlace> {
  const places = new Map<string, SessionPlace>()
  for (const grant of grants)
    for (const lease of [...grant.holds.values(), grant.unclaimedLease]) put(places, grant, lease)
  return places
}

function put(
  places: Map<string, SessionPlace>,
  { operation, owner }: { readonly operation: string; readonly owner: string },
  lease: Pick<Lease, 'session'> | undefined,
): void {
  if (lease?.session === undefined) return
  const { session } = lease
  places.set(JSON.stringify([session, operation, owner]), { session, operation, owner })
}
