/**
 * How many bits each byte takes (RFC 7541, appendix B); the last one is the end of the string, which never comes. The code is
 * canonical: the lengths say it all.
 */
const LENGTHS = [
  [13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  [28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  [5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  [7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  [6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  [24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  [22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  [21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  [26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  [19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  [20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  [26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  [30],
].flat()

/** The end of the string, as a symbol. */
const END = 256
/** What four bits lead to from a node of the tree: the next node, and the byte that they have completed, if any. */
const NIBBLES = 16
const EMITS = 1 << 16
const FAILS = 1 << 17

const tree = treeOf(LENGTHS)
const transitions = transitionsOf(tree)
const ends = endsOf(tree)

/** @returns undefined where it is no string in this code */
export function huffmanDecoded(bytes: Uint8Array): string | undefined {
  // No code is shorter than 5 bits.
  const decoded = Buffer.allocUnsafe(Math.floor((bytes.length * 8) / 5))
  let length = 0
  let node = 0
  for (const byte of bytes) {
    for (let shift = 4; shift >= 0; shift -= 4) {
      const next = transitions[node * NIBBLES + ((byte >> shift) & 15)]!
      if (next & FAILS) return undefined
      if (next & EMITS) decoded[length++] = next & 0xff
      node = (next >> 8) & 0xff
    }
  }
  return ends.has(node) ? decoded.toString('latin1', 0, length) : undefined
}

/** For each node its two children: a node by its number, or a byte as its complement. Node 0 is the root. */
type Tree = [number, number][]

function treeOf(lengths: readonly number[]): Tree {
  const tree: Tree = [[0, 0]]
  const symbols = lengths.map((length, symbol) => ({ length, symbol }))
  symbols.sort((one, other) => one.length - other.length || one.symbol - other.symbol)
  let code = 0
  let codeLength = 0
  for (const { length, symbol } of symbols) {
    code <<= length - codeLength
    codeLength = length
    let node = 0
    for (let bit = length - 1; bit > 0; bit--) {
      const side = (code >> bit) & 1
      // The root is nobody's child: 0 is a child that is not there yet.
      if (tree[node]![side] === 0) tree[node]![side] = tree.push([0, 0]) - 1
      node = tree[node]![side]!
    }
    tree[node]![code & 1] = ~symbol
    code++
  }
  return tree
}

function transitionsOf(tree: Tree): Uint32Array {
  const transitions = new Uint32Array(tree.length * NIBBLES)
  for (let start = 0; start < tree.length; start++) {
    for (let nibble = 0; nibble < NIBBLES; nibble++)
      transitions[start * NIBBLES + nibble] = transition(tree, start, nibble)
  }
  return transitions
}

function transition(tree: Tree, start: number, nibble: number): number {
  let node = start
  let emitted = 0
  for (let bit = 3; bit >= 0; bit--) {
    const child = tree[node]![(nibble >> bit) & 1]!
    if (~child === END) return FAILS
    if (child < 0) emitted = EMITS | ~child
    node = Math.max(child, 0)
  }
  return emitted | (node << 8)
}

/** Where a string may end: what is left over of its last byte is filled with ones, up to seven. */
function endsOf(tree: Tree): ReadonlySet<number> {
  const ends = new Set([0])
  let node = 0
  for (let ones = 1; ones <= 7; ones++) {
    node = tree[node]![1]
    ends.add(node)
  }
  return ends
}
