/** One header field. Most come again and again by their index, so what can be said of one is found out once. */
export interface Field {
  readonly name: string
  readonly value: string
  /** As tables and limits count it. */
  readonly size: number
  /** No request may have such a field (RFC 9113, section 8.2). */
  readonly isMalformed: boolean
}

const OVERHEAD = 32
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
const NO_VALUE = /[\x00\r\n]|^[ \t]|[ \t]$/
/** They are about one connection of HTTP/1. */
const OF_CONNECTIONS = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']

export function fieldOf(name: string, value: string): Field {
  const isMalformed =
    !NAME.test(name) ||
    NO_VALUE.test(value) ||
    OF_CONNECTIONS.includes(name) ||
    (name === 'te' && value.toLowerCase() !== 'trailers')
  return { name, value, size: name.length + value.length + OVERHEAD, isMalformed }
}
