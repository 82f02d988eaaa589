const DIGEST = /^sha256:[0-9a-f]{64}$/
const IN_REF = /sha256:[0-9a-f]{64}(?![0-9a-f])/g

/** `sha256:` and 64 hex digits: what a blob is called, and what its bytes must come to. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text)
}

/** The digest without its algorithm: the name of the file. */
export function hexOf(digest: string): string {
  return digest.slice('sha256:'.length)
}

/** The digest of a file's name. */
export function digestOf(hex: string): string {
  return `sha256:${hex}`
}

/** containerd names an ingest by what it is for: `default/7/layer-sha256:…`, `name@sha256:…`. Absent where it does not. */
export function digestInRef(ref: string): string | undefined {
  return ref.match(IN_REF)?.at(-1)
}
