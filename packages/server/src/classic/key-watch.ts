import { mayActFor } from '@baton-lock/core'
import type { WireEvent } from '@baton-lock/protocol'
import type { Service } from '@baton-lock/service'
import type { Stream } from '../streams/http-stream.ts'
import type { Streams } from '../streams/streams.ts'
import { type ClassicKey, NAMESPACE } from './ask.ts'
import { classicFrame, type Telling } from './frame.ts'
import { LateSuccess, type Success } from './late-success.ts'

/** A subscriber of a key. */
export interface Subscriber {
  readonly stream: Stream
  /** Absent: it hears of everybody. */
  readonly node: string | undefined
  /** The nodes that it may act for; absent: all. */
  readonly actsFor: readonly string[] | undefined
  /** The fence of the success that it was told last: nobody is told twice. */
  toldFence?: number
}

interface HandOver {
  readonly fence: number
  readonly node: string
  readonly owner: string
  readonly frame: string
}

type OfKey = Extract<WireEvent, { operation: string }>

/** Apart from one another by more than the second after which the known client asks again at any line. */
const NUDGE_MS = 1_500
const NUDGES = 4

/** One key and all of its subscribers: one listener at the service, each frame made once. */
export class KeyWatch {
  readonly #key: ClassicKey
  readonly #service: Service
  readonly #streams: Streams
  readonly #onOpenEnd: () => void
  readonly #late: LateSuccess
  readonly #subscribers = new Set<Subscriber>()
  #stop: () => void = () => {}
  #handOver: HandOver | undefined
  #nudges: { left: number; nextAtMs: number } | undefined
  #lastSkip = ''

  constructor(key: ClassicKey, options: { service: Service; streams: Streams; onOpenEnd: () => void }) {
    this.#key = key
    this.#service = options.service
    this.#late = new LateSuccess(key, options.service)
    this.#streams = options.streams
    this.#onOpenEnd = options.onOpenEnd
  }

  /** Something is to be said again until it is heard. */
  get hasOpenEnd(): boolean {
    return this.#handOver !== undefined || this.#nudges !== undefined
  }

  /** Somebody listens who gives no name, and may be this node. */
  mayHear(node: string): boolean {
    for (const subscriber of this.#subscribers)
      if (subscriber.node === undefined && mayActFor(subscriber, node)) return true
    return false
  }

  async start(): Promise<void> {
    const scope = { of: 'resource', namespace: NAMESPACE, resource: this.#key.resource } as const
    this.#stop = await this.#service.listen(scope, (event) => this.#hear(event))
  }

  stop(): void {
    this.#stop()
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber)
    subscriber.stream.onClose(() => this.#subscribers.delete(subscriber))
  }

  /** Tells one subscriber of the success that stands now; false where none does. */
  async replay(subscriber: Subscriber): Promise<boolean> {
    const success = await this.#late.look()
    if (success) this.tellSuccess(subscriber, success)
    return success !== undefined
  }

  /**
   * The same for one that gives no name, and may have lost its place while it listened nowhere, or at another server: while
   * nobody holds the key, lines make it ask again.
   */
  async catchUp(subscriber: Subscriber): Promise<void> {
    if (!(await this.replay(subscriber))) this.#nudge()
  }

  tellSuccess(subscriber: Subscriber, success: Success): void {
    if (subscriber.toldFence === success.fence) return
    subscriber.toldFence = success.fence
    this.tell(subscriber, { ...success, success: true })
  }

  tell({ stream }: Subscriber, telling: Telling): void {
    this.#streams.send(stream, classicFrame(this.#key, telling))
  }

  /** Says again what is not yet heard: a hand-over until it is claimed, a lost place for some seconds. */
  async repeat(): Promise<void> {
    if (this.#handOver) this.#sendHandOver(this.#handOver)
    const nudges = this.#nudges
    const nowMs = this.#service.nowMs()
    if (!nudges || nowMs < nudges.nextAtMs) return
    nudges.nextAtMs = nowMs + NUDGE_MS
    if (--nudges.left === 0) this.#nudges = undefined
    const view = await this.#service.look({ namespace: NAMESPACE, resource: this.#key.resource })
    if (view?.grants.some(({ operation }) => operation === this.#key.operation)) this.#nudges = undefined
    else this.#toNameless(classicFrame(this.#key, { node: '', success: false, atMs: nowMs }))
  }

  #hear(event: WireEvent): void {
    this.#late.changed()
    if (event.type === 'state' && event.of === 'resource') {
      const atMs = this.#service.nowMs()
      for (const { operation, node, owner, fence, claimed } of event.view?.grants ?? []) {
        if (operation === this.#key.operation && !claimed) this.#open({ node, owner, fence, atMs })
      }
    } else if ('operation' in event && event.operation === this.#key.operation) this.#hearOfKey(event)
  }

  #hearOfKey(event: OfKey): void {
    switch (event.type) {
      case 'granted':
        this.#nudges = undefined
        if (event.handOver) this.#sendHandOver(this.#open(event))
        break
      case 'claimed':
        this.#handOver = undefined
        break
      case 'ended':
        this.#hearEnd(event)
        break
      case 'told':
        this.#hearTold(event)
    }
  }

  #hearEnd(event: Extract<OfKey, { type: 'ended' }>): void {
    const unclaimed = this.#handOver
    this.#handOver = undefined
    const { fence, node, atMs } = event
    if (event.skips && event.revision === undefined) this.#announce({ fence, node, atMs })
    else {
      if (unclaimed?.fence === event.fence) {
        // Whoever was too late has no place any more, and has to ask anew.
        const telling = { node: event.node, success: false, error: 'not claimed in time; ask again', atMs: event.atMs }
        for (const subscriber of this.#subscribers) if (subscriber.node === event.owner) this.tell(subscriber, telling)
      }
      this.#nudge()
    }
  }

  /** Those who named their node hear their answer themselves. */
  #hearTold(event: Extract<OfKey, { type: 'told' }>): void {
    const { answer, askers = [], atMs } = event
    if (answer.status === 'skip') {
      const name = `${answer.fence} ${atMs}`
      if (name === this.#lastSkip) return
      this.#lastSkip = name
      if (answer.fence > 0 && answer.atMs === atMs) return // the success that has just ended: it is announced itself
      const success = { fence: answer.fence, node: answer.by ?? askers[0]?.node ?? '', atMs: answer.atMs ?? atMs }
      for (const subscriber of this.#subscribers) {
        if (subscriber.node === undefined) this.tellSuccess(subscriber, success)
      }
      return
    }
    const error = answer.status === 'failed' ? answer.error : answer.code
    for (const { node } of askers) this.#toNameless(classicFrame(this.#key, { node, success: false, error, atMs }))
    this.#nudge()
  }

  /** Whoever waits for the key skips on it. */
  #announce(success: Success): void {
    for (const subscriber of this.#subscribers) this.tellSuccess(subscriber, success)
  }

  #open({ node, owner, fence, atMs }: { node: string; owner: string; fence: number; atMs: number }): HandOver {
    this.#handOver = { fence, node, owner, frame: classicFrame(this.#key, { node, success: false, atMs }) }
    this.#onOpenEnd()
    return this.#handOver
  }

  #sendHandOver({ owner, frame }: HandOver): void {
    for (const { stream, node } of this.#subscribers) {
      if (node === undefined || node === owner) this.#streams.send(stream, frame)
    }
  }

  /** Somebody who gave no name may have lost its place: a line now and then makes it ask again, unless the key is held. */
  #nudge(): void {
    const nextAtMs = this.#nudges?.nextAtMs ?? this.#service.nowMs() + NUDGE_MS
    this.#nudges = { left: NUDGES, nextAtMs }
    this.#onOpenEnd()
  }

  #toNameless(frame: string): void {
    for (const { stream, node } of this.#subscribers) if (node === undefined) this.#streams.send(stream, frame)
  }
}
