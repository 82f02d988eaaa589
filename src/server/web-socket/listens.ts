import type { ErrorBody, ListenFrame, StreamedEvent } from '../../protocol/index.ts'
import type { Scope, Service } from '../../service/index.ts'
import { STATE_PART_BYTES } from '../limits.ts'
import { BadFrame } from './frame.ts'

interface ListensOptions {
  readonly service: Service
  /** The facts of whoever listens, and whom to tell when it is over; throws where it may not. */
  readonly check: (frame: ListenFrame) => {
    readonly actsFor?: readonly string[] | undefined
    readonly leave?: (() => void) | undefined
  }
  readonly onWaiting?: ((change: number) => void) | undefined
  /** `isUrgent`: it must not wait for the turn of this client. */
  tell(id: number, eventId: string, event: StreamedEvent, isUrgent: boolean): void
  /** Resolves when what was told so far has been taken. False: there is nobody any more. */
  taken(): Promise<boolean>
  /** It could not begin. */
  failed(id: number, error: unknown): void
}

const LISTENS_MAX = 1_000

/** All that one client listens to on its stream, by the numbers that it has chosen. */
export class Listens {
  readonly #options: ListensOptions
  readonly #all = new Map<number, () => void>()

  constructor(options: ListensOptions) {
    this.#options = options
  }

  add(frame: ListenFrame): void {
    const { id, scope, lastId } = frame
    if (this.#all.has(id) || this.#all.size >= LISTENS_MAX) throw new BadFrame('too many listens, or one twice')
    const { service, check, onWaiting, tell, taken, failed } = this.#options
    let leave: (() => void) | undefined
    let stop: (() => void) | undefined
    let isOver = false
    this.#all.set(id, () => {
      isOver = true
      leave?.()
      stop?.()
    })
    const namespace = scope.of === 'all' ? scope.namespace : undefined
    const isSession = scope.of === 'session'
    const sink = (event: StreamedEvent, eventId: string, isUrgent = isSession) => {
      if (isOver || (namespace !== undefined && 'namespace' in event && event.namespace !== namespace)) return
      // Whoever only watches may be one of thousands, and can wait.
      tell(id, eventId, event, isUrgent)
    }
    const wanted: Scope = isSession ? { ...scope, newsOnly: true } : scope
    const begin = async () => {
      const { actsFor, leave: out } = check(frame)
      leave = out
      const piecewise = {
        bytes: STATE_PART_BYTES,
        // The next part waits until this one was taken, so it does not wait for its turn.
        tell: (part: StreamedEvent, partId: string) => sink(part, partId, true),
        taken: async () => (await taken()) && !isOver,
      }
      const options = { lastId, isResumable: !isSession, actsFor, onWaiting, isGone: () => isOver, piecewise }
      stop = await service.listen(wanted, sink, options)
      if (isOver) stop()
    }
    begin().catch((error) => {
      if (isOver) return
      this.remove(id)
      failed(id, error)
    })
  }

  remove(id: number): void {
    this.#all.get(id)?.()
    this.#all.delete(id)
  }

  clear(): void {
    for (const stop of this.#all.values()) stop()
    this.#all.clear()
  }
}
