import { SHARED_HOLD } from '../core/index.ts'
import { jsonBytes, type StatePart, type StreamedEvent, viewsOf } from '../protocol/index.ts'
import type { Place, Store } from '../stores/store.ts'
import type { Scope } from './fan-out.ts'

/** So many places are looked at together. */
const PLACES_TOGETHER = 100

interface StateOptions {
  readonly partBytes?: number | undefined
  /** Before each piece that is read: when it may be; nothing where that is at once. */
  readonly pause: () => Promise<void> | undefined
}

/** Where things stand, as somebody who listens to this is told: in parts of about so many bytes where it is more than that. */
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

/** A part is told before the next one is looked at: there may be very many places. */
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
