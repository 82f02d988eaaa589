/**
 * The blobs that writers of this node have in hand: found or being fetched, and not committed yet. The lock server may count
 * this node among their users already, and containerd does not know of them: so what is dropped meanwhile is dropped when the
 * last writer has let go, if nobody uses it then.
 */
export class Hands {
  readonly #held = new Map<string, number>()
  readonly #owed = new Set<string>()

  has(digest: string): boolean {
    return this.#held.has(digest)
  }

  take(digest: string): void {
    this.#held.set(digest, (this.#held.get(digest) ?? 0) + 1)
  }

  /** The reference of this node is to be dropped when nobody has it in hand. */
  owe(digest: string): void {
    this.#owed.add(digest)
  }

  /** Whether the reference is to be dropped now. */
  release(digest: string): boolean {
    const left = (this.#held.get(digest) ?? 1) - 1
    if (left > 0) this.#held.set(digest, left)
    else this.#held.delete(digest)
    return left === 0 && this.#owed.delete(digest)
  }
}
