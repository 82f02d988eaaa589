import { Packet, type Run } from '../connection/packet.ts'

const ROWS = 500
/** A statement that names its rows one by one names so many. */
const NAMED = 50
/** Beyond this a packet is sent before the next rows are added: the server takes 16 MB at most. */
const BYTES = 1_000_000

export type Values = readonly unknown[]

/** Writes many rows in few statements. What is left in `packet` goes with the next one that is sent. */
export class Writer {
  readonly #run: Run
  packet = new Packet()
  #bytes = 0

  constructor(run: Run) {
    this.#run = run
  }

  async write(statement: string, ...values: Values): Promise<void> {
    if (this.#bytes > BYTES) {
      await this.#run(this.packet)
      this.packet = new Packet()
      this.#bytes = 0
    }
    this.packet.add(statement, ...values)
    for (const value of values) this.#bytes += sizeOf(value)
  }

  /** So many rows at a time; nothing where there are none. */
  async insert(statement: string, rows: readonly Values[]): Promise<void> {
    for (let from = 0; from < rows.length; ) {
      let to = from
      for (let bytes = 0; to < rows.length && to - from < ROWS && bytes < BYTES; to++) bytes += sizeOf(rows[to])
      await this.write(statement, rows.slice(from, to))
      from = to
    }
  }

  /** Deletes the rows of which one column has these values. */
  async removeIn(where: string, values: Values, wanted: Values): Promise<void> {
    for (let from = 0; from < wanted.length; from += ROWS)
      await this.write(`DELETE FROM ${where} IN (?)`, ...values, wanted.slice(from, from + ROWS))
  }

  /** Deletes rows by the values of these columns. */
  async remove(table: string, columns: readonly string[], rows: readonly Values[]): Promise<void> {
    const one = `(${columns.map((column) => `${column} = ?`).join(' AND ')})`
    for (let from = 0; from < rows.length; from += NAMED) {
      const named = rows.slice(from, from + NAMED)
      await this.write(`DELETE FROM ${table} WHERE ${named.map(() => one).join(' OR ')}`, ...named.flat())
    }
  }
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + sizeOf(each), 0)
  return typeof value === 'string' ? value.length : 8
}
