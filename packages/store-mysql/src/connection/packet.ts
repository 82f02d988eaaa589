import type { Connection } from 'mysql2'

/** One result a statement: rows of a SELECT, or how many a change has touched. */
// biome-ignore lint/suspicious/noExplicitAny: what comes back depends on what was asked.
export type Results = any[]

/** Several statements that go to the server in one packet, and their values. */
export class Packet {
  readonly #statements: string[] = []
  readonly #values: unknown[] = []

  add(statement: string, ...values: unknown[]): this {
    this.#statements.push(statement)
    this.#values.push(...values)
    return this
  }

  get size(): number {
    return this.#statements.length
  }

  get text(): string {
    return this.#statements.join(';\n')
  }

  get values(): readonly unknown[] {
    return this.#values
  }
}

/** Sends a packet on the connection of a transaction. */
export interface Run {
  (packet: Packet): Promise<Results>
  /** Where the bells of other processes hang, as far as this connection has asked. */
  readonly bells: Map<string, number>
}

export async function send(connection: Connection, packet: Packet): Promise<Results> {
  const results = await new Promise<unknown>((resolve, reject) => {
    const statements = { sql: packet.text, values: [...packet.values] }
    connection.query(statements, (error, result) => (error ? reject(error) : resolve(result)))
  })
  asText(results)
  return packet.size === 1 ? [results] : (results as Results)
}

/** Sends one statement: its rows. */
// biome-ignore lint/suspicious/noExplicitAny: rows have the columns that were asked for.
export async function query(connection: Connection, statement: string, ...values: unknown[]): Promise<any> {
  return (await send(connection, new Packet().add(statement, ...values)))[0]
}

/** Ids and bodies are bytes to the server and UTF-8 text to us. */
function asText(results: unknown): void {
  if (Buffer.isBuffer(results) || !Array.isArray(results)) return
  for (const row of results) {
    if (Array.isArray(row)) asText(row)
    else for (const name in row) if (Buffer.isBuffer(row[name])) row[name] = row[name].toString('utf8')
  }
}
