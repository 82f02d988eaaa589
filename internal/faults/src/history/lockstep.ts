import type { Told } from './telling.ts'

/** What somebody was told of one resource, in its stretches; those in which nothing was told are empty. */
export type Line = readonly (readonly Told[])[]

/** Two who heard the same, and did not hear the same. */
export interface Difference {
  readonly told: Told
  /** What the other was told in its place; nothing where there was nothing more. */
  readonly other: Told | undefined
}

/** A part of a stretch of the one, and where it stands among all that the other was told. */
export interface Match {
  readonly stretch: number
  readonly from: number
  readonly to: number
}

interface Lockstep {
  readonly matches: readonly Match[]
  readonly differences: readonly Difference[]
}

interface LockstepOptions {
  /** The other has missed nothing: what it was not told did not happen. */
  readonly isOtherWhole: boolean
}

/**
 * Compares what two were told of one resource. What stands once in each of the two is where they are laid side by side;
 * from there, both ways, they must be equal until one of them has a gap. An event that is told twice, or not at all, or
 * before the one that it followed, is a difference.
 */
export function lockstep(one: Line, other: Line, { isOtherWhole }: LockstepOptions): Lockstep {
  const walk = new Walk(one, other, isOtherWhole)
  for (const [index, stretch] of one.entries()) walk.along(stretch, index)
  return walk
}

class Walk implements Lockstep {
  readonly matches: Match[] = []
  readonly differences: Difference[] = []
  readonly #other: readonly Told[]
  /** Of every place in `#other`: where its stretch begins and ends. */
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  readonly #anchors: ReadonlyMap<string, number>
  readonly #isOtherWhole: boolean
  /** Up to here, the other's have been compared. */
  #next = 0

  constructor(one: Line, other: Line, isOtherWhole: boolean) {
    this.#other = other.flat()
    this.#isOtherWhole = isOtherWhole
    for (const stretch of other) {
      const start = this.#starts.length
      for (const _ of stretch) {
        this.#starts.push(start)
        this.#ends.push(start + stretch.length)
      }
    }
    const places = placesOfUnique(this.#other)
    const unique = placesOfUnique(one.flat())
    this.#anchors = new Map([...places].filter(([text]) => unique.has(text)))
  }

  along(stretch: readonly Told[], index: number): void {
    let at = 0
    let isDifferent = false
    for (;;) {
      const anchor = this.#anchorFrom(stretch, at)
      if (anchor === undefined) break
      const place = this.#anchors.get(stretch[anchor]!.text)!
      if (place < this.#next) {
        // What came after it was told before it.
        this.#differ(stretch[anchor]!, this.#other[this.#next])
        ;[at, isDifferent] = [anchor + 1, true]
        continue
      }
      const back = this.#back(stretch, { at, anchor, place, isDifferent })
      const ahead = this.#ahead(stretch, anchor, place)
      this.matches.push({ stretch: index, from: place - back, to: place + ahead })
      this.#next = place + ahead
      at = anchor + ahead
      isDifferent = at < stretch.length && this.#next < this.#ends[place]!
      if (isDifferent) this.#differ(stretch[at]!, this.#other[this.#next])
    }
    if (this.#isOtherWhole && !isDifferent && at < stretch.length) this.#leftOver(stretch.slice(at), at > 0)
  }

  #anchorFrom(stretch: readonly Told[], at: number): number | undefined {
    for (let index = at; index < stretch.length; index++) if (this.#anchors.has(stretch[index]!.text)) return index
    return undefined
  }

  /** How many before the anchor are equal; those before `at` have been compared. */
  #back(
    stretch: readonly Told[],
    { at, anchor, place, isDifferent }: { at: number; anchor: number; place: number; isDifferent: boolean },
  ): number {
    const start = this.#starts[place]!
    for (let back = 1; ; back++) {
      const told = stretch[anchor - back]
      if (anchor - back < at || !told) return back - 1
      // Where the other begins to listen, nothing can be said of what came before.
      if (place - back < start && !this.#isOtherWhole) return back - 1
      const other = place - back < Math.max(start, this.#next) ? undefined : this.#other[place - back]
      if (told.text === other?.text) continue
      if (!isDifferent) this.#differ(told, other)
      return back - 1
    }
  }

  /** How many from the anchor on are equal. */
  #ahead(stretch: readonly Told[], anchor: number, place: number): number {
    const most = Math.min(stretch.length - anchor, this.#ends[place]! - place)
    let ahead = 1
    while (ahead < most && stretch[anchor + ahead]!.text === this.#other[place + ahead]!.text) ahead++
    return ahead
  }

  /** What has no place beside the other: after its end, or where nothing stands that is there once only. */
  #leftOver(remaining: readonly Told[], isAfterEnd: boolean): void {
    const texts = new Set(this.#other.map(({ text }) => text))
    const told = isAfterEnd ? remaining[0] : remaining.find(({ text }) => !texts.has(text))
    if (told) this.#differ(told, undefined)
  }

  #differ(told: Told, other: Told | undefined): void {
    this.differences.push({ told, other })
  }
}

/** Where those stand that stand there once. */
function placesOfUnique(all: readonly Told[]): Map<string, number> {
  const places = new Map<string, number>()
  const twice = new Set<string>()
  for (const [place, { text }] of all.entries()) {
    if (places.has(text)) twice.add(text)
    places.set(text, place)
  }
  for (const text of twice) places.delete(text)
  return places
}
