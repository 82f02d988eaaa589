import type { ClientFrame, GatheredEvent, ListenFrame, StreamedEvent } from '@baton-lock/protocol'
import type { Scope, Service, Sink, Timers } from '@baton-lock/service'
import type { Asker, Guard } from '../auth/guard.ts'
import { STATE_PART_BYTES } from '../limits.ts'
import type { Streams } from '../streams/streams.ts'
import { BadFrame } from './frame.ts'
import { Gathering } from './gathering.ts'

interface ListensOptions {
  readonly service: Service
  readonly timers: Timers
  readonly asker: Asker
  readonly guard: Pick<Guard, 'checkScope'>
  readonly streams: Pick<Streams, 'watch'>
  /** `soon`: at the end of this turn; `inTurn`: when this client has its turn, as it may be one of thousands. */
  readonly tell: (id: number, eventId: string, event: StreamedEvent | GatheredEvent, when: 'soon' | 'inTurn') => void
  readonly onEnded: (id: number, error: unknown) => void
  /** Resolves when what was told has been taken; false where there is nobody any more. */
  readonly taken: () => Promise<boolean>
  readonly onWaiting?: ((change: number) => void) | undefined
}

const LISTENS_MAX = 1_000

/** What one client listens to, by the ids that it has chosen. */
export class Listens {
  readonly #options: ListensOptions
  readonly #listening = new Map<number, () => void>()

  constructor(options: ListensOptions) {
    this.#options = options
  }

  /** Does what a frame asks for. */
  change({ listen = [], unlisten = [] }: ClientFrame): void {
    for (const each of listen) this.#begin(each)
    for (const id of unlisten) this.#end(id)
  }

  #begin(frame: ListenFrame): void {
    const { id } = frame
    if (this.#listening.has(id) || this.#listening.size >= LISTENS_MAX)
      throw new BadFrame('too many listens, or one twice')
    const onEnd: (() => void)[] = []
    let isOver = false
    this.#listening.set(id, () => {
      isOver = true
      for (const callback of onEnd.splice(0)) callback()
    })
    this.#listen(frame, { isOver: () => isOver, onEnd: (callback) => void onEnd.push(callback) }).catch((error) => {
      if (isOver) return
      this.#end(id)
      this.#options.onEnded(id, error)
    })
  }

  #end(id: number): void {
    this.#listening.get(id)?.()
    this.#listening.delete(id)
  }

  endAll(): void {
    for (const stop of this.#listening.values()) stop()
    this.#listening.clear()
  }

  async #listen(frame: ListenFrame, { isOver, onEnd }: Listen): Promise<void> {
    const { service, asker, guard, streams, onWaiting, tell, taken } = this.#options
    const { id, scope, lastId } = frame
    const namespace = scope.of === 'all' ? scope.namespace : undefined
    const { actsFor } = guard.checkScope(asker, { scope, namespace })
    const leave = streams.watch(scope)
    if (leave) onEnd(leave)
    const sink = this.#sinkOf(frame, { isOver, onEnd })
    // The next part waits until this one was taken, so it does not wait for its turn.
    const tellPart = (part: StreamedEvent, partId: string) => {
      if (!isOver()) tell(id, partId, part, 'soon')
    }
    const piecewise = { bytes: STATE_PART_BYTES, tell: tellPart, taken: async () => (await taken()) && !isOver() }
    const wanted: Scope = scope.of === 'session' ? { ...scope, newsOnly: true } : scope
    const isResumable = scope.of !== 'session' && frame.gatherMs === undefined
    const options = { lastId, isResumable, actsFor, onWaiting, isGone: isOver, piecewise }
    const stop = await service.listen(wanted, sink, options)
    if (isOver()) stop()
    else onEnd(stop)
  }

  #sinkOf({ id, scope, gatherMs }: ListenFrame, { isOver, onEnd }: Listen): Sink {
    const { tell, timers } = this.#options
    const namespace = scope.of === 'all' ? scope.namespace : undefined
    const when = scope.of === 'session' ? 'soon' : 'inTurn'
    const gathering =
      gatherMs === undefined
        ? undefined
        : new Gathering({ everyMs: gatherMs, timers, tell: (event, eventId) => tell(id, eventId, event, when) })
    if (gathering) onEnd(() => gathering.stop())
    return (event, eventId) => {
      if (isOver()) return
      const isOfKey = 'namespace' in event
      if (isOfKey && namespace !== undefined && event.namespace !== namespace) return
      if (isOfKey && gathering) gathering.add(event, eventId)
      else tell(id, eventId, event, when)
    }
  }
}

interface Listen {
  readonly isOver: () => boolean
  readonly onEnd: (callback: () => void) => void
}
