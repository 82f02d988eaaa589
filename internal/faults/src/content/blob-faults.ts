/** Which GETs a fault meets: the next `times` of this digest, by this node where one is named. */
interface Aim {
  readonly digest: string
  readonly node?: string
  /** All of them, where nothing is said. */
  readonly times?: number
}

interface Held {
  /** Resolves with the node whose body is the first to be held. */
  readonly reached: Promise<string>
  release(): void
}

/**
 * `end`: the connection is closed in good order, and too early; containerd goes on from there with a Range request.
 * `reset`: it is reset, which containerd does not forgive.
 */
type CutHow = 'end' | 'reset'

/** What happens to the body of one answer. Places are bytes of the blob, whatever part of it was asked for. */
export type BodyFault =
  | { readonly kind: 'cut'; readonly atByte: number; readonly how: CutHow }
  | { readonly kind: 'corrupt'; readonly atByte: number }
  | { readonly kind: 'hold'; readonly atByte: number; readonly passing: (node: string) => Promise<void> }

/** A GET that faults may meet. */
interface Met {
  readonly digest: string
  readonly node: string
  /** Where in the blob its answer begins. */
  readonly startByte: number
}

interface Rule {
  readonly aim: Aim
  readonly faultOf: (get: Met) => BodyFault
  timesLeft: number
}

/** The faults that are to be inflicted on the bodies of blobs. */
export class BlobFaults {
  readonly #rules = new Set<Rule>()
  readonly #releases = new Set<() => void>()
  #bytesPerSecond: number | undefined

  /** Each answer ends after this many bytes of its own: one that goes on from there gets as far again. */
  cut({ afterBytes, how = 'end', ...aim }: Aim & { readonly afterBytes: number; readonly how?: CutHow }): void {
    this.#add(aim, ({ startByte }) => ({ kind: 'cut', atByte: startByte + afterBytes, how }))
  }

  /** This one byte arrives changed. */
  corrupt({ atByte, ...aim }: Aim & { readonly atByte: number }): void {
    this.#add(aim, () => ({ kind: 'corrupt', atByte }))
  }

  /** This many bytes arrive, and no more until it is released. */
  hold({ atByte, ...aim }: Aim & { readonly atByte: number }): Held {
    let reach = (_node: string) => {}
    const reached = new Promise<string>((resolve) => {
      reach = resolve
    })
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const passing = (node: string) => {
      reach(node)
      return opened
    }
    const rule = this.#add(aim, () => ({ kind: 'hold', atByte, passing }))
    const release = () => {
      this.#rules.delete(rule)
      this.#releases.delete(release)
      open()
    }
    this.#releases.add(release)
    return { reached, release }
  }

  /** For each body, from now on and for those that are under way. */
  throttle(bytesPerSecond: number | undefined): void {
    this.#bytesPerSecond = bytesPerSecond
  }

  get bytesPerSecond(): number | undefined {
    return this.#bytesPerSecond
  }

  /** What meets this GET; asked once for each, since it counts. */
  meeting(get: Met): BodyFault[] {
    const { digest, node } = get
    const met = [...this.#rules].filter(
      ({ aim, timesLeft }) => timesLeft > 0 && aim.digest === digest && (aim.node ?? node) === node,
    )
    for (const rule of met) rule.timesLeft--
    return met.map(({ faultOf }) => faultOf(get))
  }

  /** No more faults, and whatever is held goes on. */
  heal(): void {
    this.#rules.clear()
    this.#bytesPerSecond = undefined
    for (const release of this.#releases) release()
  }

  #add(aim: Aim, faultOf: (get: Met) => BodyFault): Rule {
    const rule = { aim, faultOf, timesLeft: aim.times ?? Number.POSITIVE_INFINITY }
    this.#rules.add(rule)
    return rule
  }
}
