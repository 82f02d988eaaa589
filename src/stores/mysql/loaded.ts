/**
 * A step has asked for something that was not read from the database. It has to be read, and the step taken again from
 * the start: the core knows nothing of databases and cannot wait.
 */
export class NotLoaded extends Error {
  override readonly name = 'NotLoaded'
  readonly wanted: Wanted

  constructor(wanted: Wanted) {
    super(`not loaded: ${JSON.stringify(wanted)}`)
    this.wanted = wanted
  }
}

export type Wanted =
  /** So many of the oldest waiters of a queue. */
  | { readonly what: 'first'; readonly operation: string; readonly count: number }
  /** So many of the oldest waiters of all queues, after a ticket. */
  | { readonly what: 'oldest'; readonly count: number; readonly after: number }
  | { readonly what: 'owner'; readonly operation: string; readonly owner: string }
  | { readonly what: 'revision'; readonly operation: string; readonly revision: string | undefined }
  | { readonly what: 'position'; readonly operation: string; readonly ticket: number }
  /** The waiters that are due. */
  | { readonly what: 'due' }
  | { readonly what: 'remembered'; readonly name: string }
