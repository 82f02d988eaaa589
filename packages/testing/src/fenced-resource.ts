/**
 * What a user's own storage has to do for fences to protect it: remember the highest one it has seen for a key, and refuse
 * lower ones. With `check: false` it is the storage that most people have: it takes whatever comes.
 */
export class FencedResource {
  readonly #highest = new Map<string, number>()
  readonly #check: boolean
  /** Writes that were accepted although a higher fence had been seen before: what fences are there to prevent. */
  readonly violations: { readonly key: string; readonly fence: number; readonly highest: number }[] = []

  constructor({ check = true }: { readonly check?: boolean } = {}) {
    this.#check = check
  }

  /** Whether the write was accepted. */
  write(key: string, fence: number): boolean {
    const highest = this.#highest.get(key) ?? 0
    if (fence >= highest) {
      this.#highest.set(key, fence)
      return true
    }
    if (this.#check) return false
    this.violations.push({ key, fence, highest })
    return true
  }
}
