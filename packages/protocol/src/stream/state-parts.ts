import type { ResourceView } from '@baton-lock/core'
import { jsonBytes } from '../limits.ts'
import type { PlaceState, StateEvent, StatePart } from './events.ts'

/*
 * A state that is too large for one frame comes in parts. Each is like the whole, but of its lists it has a piece: the whole is
 * what they are together.
 */

/** The lists of a view that may be long or have much in them. */
const LISTS = ['grants', 'kept', 'recent', 'references', 'waiters'] as const

/** A view in pieces of about so many bytes each; one where that is enough. */
export function viewsOf(view: ResourceView, bytes: number): readonly ResourceView[] {
  const pieces: ResourceView[] = []
  const empty = { ...view, grants: [], kept: [], recent: [], references: [], waiters: [] }
  let piece: Record<(typeof LISTS)[number], unknown[]> = {
    grants: [],
    kept: [],
    recent: [],
    references: [],
    waiters: [],
  }
  let size = 0
  const finish = () => {
    pieces.push({ ...empty, ...piece } as ResourceView)
    piece = { grants: [], kept: [], recent: [], references: [], waiters: [] }
    size = 0
  }
  for (const list of LISTS) {
    for (const item of view[list]) {
      const more = jsonBytes(item) + 1
      if (size > 0 && size + more > bytes) finish()
      piece[list].push(item)
      size += more
    }
  }
  finish()
  return pieces
}

/** Puts the parts of a state together again. */
export class StateParts {
  #places: PlaceState[] = []
  #view: ResourceView | undefined

  /** The state, with its last part. */
  add(part: StatePart): StateEvent | undefined {
    if (part.of === 'session') for (const place of part.places) this.#places.push(place)
    else this.#view = this.#view ? joined(this.#view, part.view) : part.view
    if (part.more) return undefined
    const whole: StateEvent =
      part.of === 'session'
        ? { type: 'state', of: 'session', alive: true, places: this.#places }
        : { type: 'state', of: 'resource', view: this.#view! }
    this.clear()
    return whole
  }

  /** What has come so far is no part of what comes next. */
  clear(): void {
    this.#places = []
    this.#view = undefined
  }
}

function joined(one: ResourceView, other: ResourceView): ResourceView {
  const lists = LISTS.map((list) => [list, [...one[list], ...other[list]]])
  return { ...one, ...Object.fromEntries(lists) }
}
