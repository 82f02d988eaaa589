import { type RequestDefaults, type RequestType, TAKE_DEFAULTS } from '../../protocol/index.ts'
import type { InputOf } from '../transport.ts'

/** Needs no escape in JSON. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** A request as JSON, without what the defaults of the connection say. */
export function requestText(request: InputOf<RequestType>, defaults: RequestDefaults): string {
  const takes = TAKE_DEFAULTS.has(request.type)
  const takesSession = request.type === 'acquire'
  let text = `{"type":"${request.type}"`
  for (const name in request) {
    const value: unknown = request[name as keyof typeof request]
    if (value === undefined || name === 'type') continue
    if (takes && name === 'namespace' && value === defaults.namespace) continue
    if (takes && name === 'node' && value === defaults.node) continue
    if (name === 'session' && value === defaults.session && takesSession) continue
    text += `,"${name}":${typeof value === 'string' && PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)}`
  }
  return `${text}}`
}
