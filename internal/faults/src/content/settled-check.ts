import type { ContentViolation } from './soak-log.ts'

/** What the lock server and the nodes say at a moment in which nothing happens. */
interface Settled {
  /** By digest, the nodes that use it as the lock server has it. */
  readonly references: ReadonlyMap<string, readonly string[]>
  /** By node, the digests that it uses. */
  readonly uses: ReadonlyMap<string, readonly string[]>
}

/** The lock server knows of each use, and of nothing else. */
export function checkReferences({ references, uses }: Settled): ContentViolation[] {
  const said = pairsOf(references, (digest, node) => `${node} ${digest}`)
  const used = pairsOf(uses, (node, digest) => `${node} ${digest}`)
  return [
    ...[...used]
      .filter((pair) => !said.has(pair))
      .map((pair) => reference(pair, 'uses it, and the lock server does not know')),
    ...[...said]
      .filter((pair) => !used.has(pair))
      .map((pair) => reference(pair, 'does not use it, and the lock server says so')),
  ]
}

/** What a node's containerd has, at such a moment. */
interface NodeContent {
  readonly node: string
  readonly uses: readonly string[]
  /** As containerd's own metadata has them. */
  readonly content: readonly string[]
  /** The blobs of each image that it has and that must all be there: nothing was pruned since it was pulled. */
  readonly images: readonly { readonly name: string; readonly digests: readonly string[] }[]
}

/** What containerd counts on, the content store counts on too; and an image that was pulled is whole. */
export function checkContent({ node, uses, content, images }: NodeContent): ContentViolation[] {
  const [used, known] = [new Set(uses), new Set(content)]
  const unused = content.filter((digest) => !used.has(digest))
  const missing = images.flatMap(({ name, digests }) =>
    digests.filter((digest) => !known.has(digest)).map((digest) => ({ digest, name })),
  )
  return [
    ...unused.map((digest) =>
      violation('missing', digest, `containerd on ${node} has it, and the content store does not`),
    ),
    ...missing.map(({ digest, name }) =>
      violation('missing', digest, `${node} has the image ${name}, and not this of it`),
    ),
  ]
}

/** What is left where nothing may be: by folder, the names in it. */
export function checkEmpty(left: ReadonlyMap<string, readonly string[]>): ContentViolation[] {
  return [...left]
    .filter(([, names]) => names.length > 0)
    .map(([folder, names]) =>
      violation('left over', folder, `${names.length}, although no image is left: ${names.slice(0, 5).join(', ')}`),
    )
}

function pairsOf(
  many: ReadonlyMap<string, readonly string[]>,
  pairOf: (one: string, other: string) => string,
): ReadonlySet<string> {
  return new Set([...many].flatMap(([one, others]) => others.map((other) => pairOf(one, other))))
}

function reference(pair: string, what: string): ContentViolation {
  const [node, digest] = pair.split(' ') as [string, string]
  return violation('references', digest, `${node} ${what}`)
}

function violation(rule: ContentViolation['rule'], about: string, what: string): ContentViolation {
  return { rule, about, what }
}
