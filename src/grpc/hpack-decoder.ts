import { DynamicTable } from './dynamic-table.ts'
import { type Field, fieldOf } from './field.ts'
import { ConnectionError, ERROR } from './frame.ts'
import { huffmanDecoded } from './huffman.ts'
import { STATIC_TABLE } from './static-table.ts'

interface DecoderOptions {
  /** The most that the peer may make its table. */
  readonly tableBytes: number
  /** The most of one list of fields. */
  readonly listBytes: number
}

/** Header blocks of one connection, in the order in which they came: each may change what the next one means. */
export class HpackDecoder {
  readonly #table: DynamicTable
  readonly #options: DecoderOptions
  #block: Buffer = Buffer.alloc(0)
  #at = 0

  constructor(options: DecoderOptions) {
    this.#options = options
    this.#table = new DynamicTable(options.tableBytes)
  }

  get tableSize(): number {
    return this.#table.size
  }

  /** @throws ConnectionError where it is no header block */
  decode(block: Buffer): readonly Field[] | 'too-large' {
    this.#block = block
    this.#at = 0
    const fields: Field[] = []
    let size = 0
    while (this.#at < block.length) {
      const field = this.#next(size === 0)
      if (!field) continue
      size += field.size
      // What is too large is still read to its end: it may change the table.
      if (size <= this.#options.listBytes) fields.push(field)
    }
    return size > this.#options.listBytes ? 'too-large' : fields
  }

  #next(mayResize: boolean): Field | undefined {
    const byte = this.#block[this.#at]!
    if (byte & 0x80) return this.#indexed(this.#integer(7))
    if (byte & 0x40) {
      const field = this.#literal(6)
      this.#table.add(field)
      return field
    }
    // Without indexing, or never to be indexed: here it is the same.
    if ((byte & 0x20) === 0) return this.#literal(4)
    const maxSize = this.#integer(5)
    if (!mayResize || maxSize > this.#options.tableBytes) throw broken('a change of the table that is not allowed')
    this.#table.resize(maxSize)
    return undefined
  }

  #indexed(index: number): Field {
    const field =
      index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.#table.at(index - STATIC_TABLE.length - 1)
    if (!field) throw broken('an index of no field')
    return field
  }

  #literal(prefixBits: number): Field {
    const index = this.#integer(prefixBits)
    const name = index === 0 ? this.#string() : this.#indexed(index).name
    return fieldOf(name, this.#string())
  }

  #integer(prefixBits: number): number {
    const prefix = (1 << prefixBits) - 1
    let value = this.#byte() & prefix
    if (value < prefix) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw broken('a number without end')
  }

  #string(): string {
    const isHuffman = (this.#block[this.#at] ?? 0) >= 0x80
    const length = this.#integer(7)
    const start = this.#at
    this.#at += length
    if (this.#at > this.#block.length) throw broken('a string that goes on after its block')
    if (!isHuffman) return this.#block.toString('latin1', start, this.#at)
    return huffmanDecoded(this.#block.subarray(start, this.#at)) ?? refused('a string that is not in the Huffman code')
  }

  #byte(): number {
    return this.#block[this.#at++] ?? refused('a block that ends too early')
  }
}

function broken(what: string): ConnectionError {
  return new ConnectionError(ERROR.compression, what)
}

function refused(what: string): never {
  throw broken(what)
}
