import type { Call, ContentFault, ContentViolation } from './soak-log.ts'

/** One GET of a blob, as it was seen. */
export interface SeenGet {
  readonly node: string
  readonly digest: string
  /** Where in the blob its answer begins. */
  readonly startByte: number
  /** Of the body, sent. */
  readonly bytes: number
  /** It came after this time, ... */
  readonly afterMs: number
  /** ... and by this one. */
  readonly byMs: number
  /** When more of its body was seen to have been sent for the last time. */
  readonly lastByteMs: number
}

/** A blob in the folder of a node: there for certain all the time from `sinceMs` to `untilMs`. */
export interface SeenCopy {
  readonly node: string
  readonly digest: string
  readonly sinceMs: number
  readonly untilMs: number
}

export interface FetchLog {
  readonly gets: readonly SeenGet[]
  readonly copies: readonly SeenCopy[]
  readonly faults: readonly ContentFault[]
  readonly calls: readonly Pick<Call, 'node' | 'fromMs' | 'toMs'>[]
}

/** What may have a blob fetched again although it is there; there is nothing else. */
export const EXCUSES = {
  outage: 'no lock server',
  unaware: 'stopped when the lock server came back',
  resumed: 'resumed after a cut',
  stopped: 'stopped for longer than its lease',
  late: 'published by one that had lost its lease',
  gaveUp: 'the other one had given up',
} as const

type Excuse = (typeof EXCUSES)[keyof typeof EXCUSES]

interface FetchVerdict {
  readonly violations: readonly ContentViolation[]
  readonly excused: Readonly<Record<Excuse, number>>
}

/** Between the node's last look for a copy and its GET being counted. Who has its turn is the only one to publish. */
const LOOK_TO_GET_MS = 300
/** A node may take an outage for lasting while its last look at the server is unanswered (5 s), and looks every second. */
const OUTAGE_KNOWN_MS = 9_000
/** A lease of 10 s is renewed well before it ends: a stop that is shorter than this cannot lose it. */
const LEASE_LOST_MS = 6_000
/** What a process does first when it goes on, on a busy machine. */
const WAKING_MS = 5_000
/** containerd goes on after a cut at once. */
const RESUME_MS = 5_000
/** A node that lost its lease publishes when it has fetched the blob, however slowly. */
const LATE_MS = 90_000
/** Between the verify after a grant and the GET, on a busy machine. */
const SURPRISE_MS = 3_000

/** Every GET of a blob that was there, or was being fetched by another node: excused, or a violation. */
export function checkFetches(log: FetchLog): FetchVerdict {
  return new FetchCheck(log).check()
}

class FetchCheck {
  readonly #log: FetchLog
  readonly #excused = Object.fromEntries(Object.values(EXCUSES).map((each) => [each, 0])) as Record<Excuse, number>
  readonly #violations: ContentViolation[] = []

  constructor(log: FetchLog) {
    this.#log = log
  }

  check(): FetchVerdict {
    for (const get of this.#log.gets) {
      const copies = this.#log.copies.filter((copy) => wasThere(copy, get))
      if (copies.length > 0) {
        const excuses = copies.map((copy) => this.#excuse(get, copy))
        this.#judge(get, excuses, `although ${named(copies, get)}`)
        continue
      }
      const others = this.#log.gets.filter((other) => isAtOnce(other, get))
      if (others.length === 0) continue
      const names = others.map(({ node }) => node).join(', ')
      this.#judge(
        get,
        others.map((other) => this.#excuseAtOnce(get, other)),
        `while ${names} was fetching it`,
      )
    }
    return { violations: this.#violations, excused: this.#excused }
  }

  #judge(get: SeenGet, excuses: readonly (Excuse | undefined)[], how: string): void {
    if (excuses.every((excuse) => excuse !== undefined)) {
      this.#excused[excuses[0]!]++
      return
    }
    const at = `at ${(get.byMs / 1_000).toFixed(1)} s`
    const from = get.startByte > 0 ? ` from byte ${get.startByte} on` : ''
    this.#violations.push({
      rule: 'fetched twice',
      about: get.digest,
      what: `${at}: ${get.node} fetched it${from} ${how}`,
    })
  }

  #excuse(get: SeenGet, copy: SeenCopy): Excuse | undefined {
    if (this.#isOutage(get)) return EXCUSES.outage
    if (this.#isOutageOfStopped(get)) return EXCUSES.unaware
    if (this.#isResumed(get, copy)) return EXCUSES.resumed
    if (this.#hasSlept(get, copy)) return EXCUSES.stopped
    if (get.byMs - copy.sinceMs < SURPRISE_MS && this.#isLate(copy)) return EXCUSES.late
    return undefined
  }

  #excuseAtOnce(get: SeenGet, other: SeenGet): Excuse | undefined {
    if (this.#isOutage(get) || this.#isOutage(other)) return EXCUSES.outage
    if (this.#isOutageOfStopped(get) || this.#isOutageOfStopped(other)) return EXCUSES.unaware
    if (this.#follows(get) !== undefined) return EXCUSES.resumed
    if (this.#hasLostLease(other, get.byMs) || this.#hasLostLease(get, get.byMs)) return EXCUSES.stopped
    const gaveUp = this.#hasBeen(other.node, 'kill', { fromMs: other.afterMs - 1_000, toMs: get.byMs })
    const ended = this.#log.calls.some(
      ({ node, toMs }) => node === other.node && toMs >= other.afterMs && toMs <= get.byMs + 1_000,
    )
    return gaveUp || ended ? EXCUSES.gaveUp : undefined
  }

  /** No lock server answered, or the node could not know yet that one does. */
  #isOutage({ afterMs, byMs }: SeenGet): boolean {
    return this.#outages(byMs).some(({ toMs }) => afterMs <= toMs + OUTAGE_KNOWN_MS)
  }

  /** The same, by the time for which it ran: who is stopped learns nothing. */
  #isOutageOfStopped({ node, afterMs, byMs }: SeenGet): boolean {
    const stops = this.#log.faults.filter((fault) => fault.kind === 'stop' && fault.node === node)
    return this.#outages(byMs).some(({ toMs }) => {
      const stoppedMs = stops.map((stop) => Math.max(0, Math.min(stop.toMs, afterMs) - Math.max(stop.fromMs, toMs)))
      return afterMs - stoppedMs.reduce((sum, each) => sum + each, 0) <= toMs + OUTAGE_KNOWN_MS
    })
  }

  #outages(byMs: number): ContentFault[] {
    return this.#log.faults.filter(({ kind, fromMs }) => kind === 'outage' && fromMs <= byMs)
  }

  /** It goes on where an earlier GET of the same call was cut, which nothing was to be said against. */
  #isResumed(get: SeenGet, copy: SeenCopy): boolean {
    const before = this.#follows(get)
    if (!before) return false
    return !wasThere(copy, before) || this.#excuse(before, copy) !== undefined
  }

  #follows(get: SeenGet): SeenGet | undefined {
    const { node, digest, startByte, afterMs } = get
    if (startByte === 0) return undefined
    const earlier = this.#log.gets.filter(
      (each) => each.node === node && each.digest === digest && each.byMs <= afterMs,
    )
    const before = earlier.at(-1)
    if (!before || before.startByte + before.bytes < startByte || afterMs - before.lastByteMs > RESUME_MS)
      return undefined
    // A content store that begins anew asks anew, and so does another call.
    if (this.#hasBeen(node, 'kill', { fromMs: before.afterMs, toMs: get.byMs })) return undefined
    const isOneCall = this.#log.calls.some(
      (call) => call.node === node && call.fromMs <= before.byMs && call.toMs >= afterMs,
    )
    return isOneCall ? before : undefined
  }

  /** It had its turn when it was stopped, and went on when it was no longer alone. */
  #hasSlept(get: SeenGet, copy: SeenCopy): boolean {
    return this.#log.faults.some(
      ({ kind, node, fromMs, toMs }) =>
        kind === 'stop' &&
        node === get.node &&
        toMs - fromMs > LEASE_LOST_MS &&
        copy.sinceMs >= fromMs &&
        get.afterMs <= toMs + WAKING_MS,
    )
  }

  /** Whoever published it had fetched it under a lease that it lost. */
  #isLate({ node, digest, sinceMs }: SeenCopy): boolean {
    const gets = this.#log.gets.filter((each) => each.node === node && each.digest === digest)
    return gets.some((get) => get.byMs <= sinceMs && sinceMs - get.byMs < LATE_MS && this.#hasLostLease(get, sinceMs))
  }

  /** The lease under which it was fetched cannot be counted on: its node was stopped by then, or the server was away. */
  #hasLostLease(get: SeenGet, byMs: number): boolean {
    return this.#log.faults.some(
      ({ kind, node, fromMs, toMs }) =>
        (kind === 'outage' || (kind === 'stop' && node === get.node)) &&
        toMs - fromMs > LEASE_LOST_MS &&
        fromMs <= byMs &&
        get.afterMs <= toMs + WAKING_MS,
    )
  }

  #hasBeen(node: string, kind: ContentFault['kind'], { fromMs, toMs }: { fromMs: number; toMs: number }): boolean {
    return this.#log.faults.some(
      (fault) => fault.kind === kind && fault.node === node && fault.fromMs <= toMs && fault.toMs >= fromMs,
    )
  }
}

function wasThere(copy: SeenCopy, { digest, afterMs, byMs }: SeenGet): boolean {
  return copy.digest === digest && copy.sinceMs <= afterMs - LOOK_TO_GET_MS && copy.untilMs >= byMs
}

/** Another node's GET that was under way both before this one and after it. */
function isAtOnce(other: SeenGet, { node, digest, afterMs, byMs }: SeenGet): boolean {
  return (
    other.digest === digest &&
    other.node !== node &&
    other.byMs <= afterMs - LOOK_TO_GET_MS &&
    other.lastByteMs >= byMs + LOOK_TO_GET_MS
  )
}

function named(copies: readonly SeenCopy[], { byMs }: SeenGet): string {
  const each = copies.map(({ node, sinceMs }) => `${node} had it for ${((byMs - sinceMs) / 1_000).toFixed(1)} s`)
  return each.join(', ')
}
