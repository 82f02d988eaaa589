/** To be put before the next block when the client has made our table smaller: it is empty, and stays so. */
export const EMPTY_TABLE = Buffer.of(0x20)

const STATUS_200 = 0x88
const STATUS_NAME = 8
const LENGTH_MAX = 0x7f

/** A header block without the table and without Huffman: what a server sends is short, and mostly made once. */
export function headerBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => encoded(name, value)))
}

function encoded(name: string, value: string): Uint8Array[] {
  if (name !== ':status') return [Buffer.of(0), string(name), string(value)]
  return value === '200' ? [Buffer.of(STATUS_200)] : [Buffer.of(STATUS_NAME), string(value)]
}

function string(text: string): Uint8Array {
  return Buffer.concat([length(text.length), Buffer.from(text, 'latin1')])
}

/** RFC 7541, section 5.1, with a prefix of 7 bits. */
function length(value: number): Uint8Array {
  if (value < LENGTH_MAX) return Buffer.of(value)
  const bytes = [LENGTH_MAX]
  let left = value - LENGTH_MAX
  for (; left >= 0x80; left >>= 7) bytes.push((left & 0x7f) | 0x80)
  return Buffer.of(...bytes, left)
}
