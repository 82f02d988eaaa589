interface CountedGet {
  readonly digest: string
  /** Of the body, so far. */
  readonly bytes: number
}

/** How often each blob was fetched. */
export interface BlobGets {
  readonly total: number
  readonly byDigest: ReadonlyMap<string, { readonly gets: number; readonly bytes: number }>
}

export function tally(counted: readonly CountedGet[]): BlobGets {
  const byDigest = new Map<string, { gets: number; bytes: number }>()
  for (const { digest, bytes } of counted) {
    const sum = byDigest.get(digest) ?? { gets: 0, bytes: 0 }
    byDigest.set(digest, { gets: sum.gets + 1, bytes: sum.bytes + bytes })
  }
  return { total: counted.length, byDigest }
}
