import { SHARED_HOLD } from '@baton-lock/core'
import { jsonBytes, type StatePart, type StreamedEvent, viewsOf } from '@baton-lock/protocol'
import type { Place, Store } from '@baton-lock/store/store'
import type { Scope } from './fan-out.ts'

/** How many places are looked up together. */
const PLACES_TOGETHER = 100

interface StateOptions {
  readonly partBytes?: number | undefined
  /** Called before each piece is read. Returns a promise if the read has to wait. */
  readonly pause: () => Promise<void> | undefined
}

/** The present state as a listener of this scope gets it, in parts of about `partBytes` if it is larger. */
export async function* stateOf(
  store: Store,
  scope: Scope,
  { partBytes = Infinity, pause }: StateOptions,
): AsyncGenerator<StreamedEvent> {
  const turn = pause()
  if (turn) await turn
  switch (scope.of) {
    case 'ask':
      yield { type: 'state', of: 'ask', standing: await store.standing(scope) }
      return
    case 'session':
      yield* sessionState(store, await store.places(scope.session), { partBytes, pause })
      return
    case 'resource': {
      const view = await store.read(scope)
      const views = view && partBytes < Infinity ? viewsOf(view, partBytes) : []
      if (views.length <= 1) yield { type: 'state', of: 'resource', view: view ?? null }
      else
        for (const [index, each] of views.entries())
          yield { type: 'state-part', of: 'resource', view: each, more: index < views.length - 1 }
      return
    }
    case 'all':
      yield { type: 'state', of: 'all' }
  }
}

type PlaceState = Extract<StatePart, { of: 'session' }>['places'][number]

/** Each part is sent before the next one is read, as there may be very many places. */
async function* sessionState(
  store: Store,
  places: readonly Place[] | undefined,
  { partBytes = Infinity, pause }: StateOptions,
): AsyncGenerator<StreamedEvent> {
  let part: PlaceState[] = []
  let isFirst = true
  let size = 0
  for (let from = 0; from < (places?.length ?? 0); from += PLACES_TOGETHER) {
    const turn = from > 0 ? pause() : undefined
    if (turn) await turn
    for (const place of await standingsOf(store, places!.slice(from, from + PLACES_TOGETHER))) {
      const more = partBytes === Infinity ? 0 : jsonBytes(place) + 1
      if (size > 0 && size + more > partBytes) {
        yield { type: 'state-part', of: 'session', places: part, more: true }
        isFirst = false
        part = []
        size = 0
      }
      part.push(place)
      size += more
    }
  }
  if (isFirst) yield { type: 'state', of: 'session', alive: places !== undefined, places: part }
  else yield { type: 'state-part', of: 'session', places: part, more: false }
}

function standingsOf(store: Store, places: readonly Place[]): Promise<readonly PlaceState[]> {
  const standings = places.map(async (place) => ({
    ...place,
    standing: await store.standing({ ...place, hold: SHARED_HOLD }),
  }))
  return Promise.all(standings)
}
