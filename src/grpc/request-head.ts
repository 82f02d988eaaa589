import type { Field } from './field.ts'

/** What a list of header fields asks for, or why it is no request. */
type RequestHead =
  | { readonly kind: 'call'; readonly path: string }
  /** It is HTTP, but not gRPC: the status says what is wrong. */
  | { readonly kind: 'http'; readonly status: 405 | 415 }
  | { readonly kind: 'malformed' }

const MALFORMED: RequestHead = { kind: 'malformed' }
const CONTENT_TYPE = 'application/grpc'

/** Pseudo-fields, each at most once, before all others; of these, only what kind of content it is matters here. */
export function requestHead(fields: readonly Field[]): RequestHead {
  let method: string | undefined
  let path: string | undefined
  let scheme: string | undefined
  let authority: string | undefined
  let contentType = ''
  let areFirst = true
  for (const { name, value, isMalformed } of fields) {
    if (isMalformed) return MALFORMED
    if (name.charCodeAt(0) !== COLON) {
      areFirst = false
      if (name === 'content-type') contentType = value
    } else if (!areFirst) return MALFORMED
    else if (name === ':path' && path === undefined) path = value
    else if (name === ':method' && method === undefined) method = value
    else if (name === ':scheme' && scheme === undefined) scheme = value
    else if (name === ':authority' && authority === undefined) authority = value
    else return MALFORMED
  }
  if (!method || !path || !scheme) return MALFORMED
  if (method !== 'POST') return { kind: 'http', status: 405 }
  return isGrpc(contentType) ? { kind: 'call', path } : { kind: 'http', status: 415 }
}

/** Whether a list of header fields may come after the messages of a request. */
export function areTrailers(fields: readonly Field[]): boolean {
  return fields.every(({ name, isMalformed }) => !isMalformed && name.charCodeAt(0) !== COLON)
}

const COLON = 58

function isGrpc(contentType: string): boolean {
  if (!contentType.startsWith(CONTENT_TYPE)) return false
  const next = contentType[CONTENT_TYPE.length]
  return next === undefined || next === '+' || next === ';'
}
