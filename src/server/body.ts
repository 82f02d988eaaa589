import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { scan } from 'secure-json-parse'
import { DEPTH_MAX, isDeepText, isFlat, isTooDeep } from './depth.ts'
import { Refusal } from './refusal.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The JSON of a body, whatever its Content-Type says; nothing where there is none. */
export function jsonFrom(body: Buffer | undefined): unknown {
  if (!body || body.length === 0) return undefined
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    throw new Refusal('bad-request', 'The body is not UTF-8; send JSON in UTF-8.')
  }
  if (text.length === 0) return undefined
  const notPlain = 'The body is not JSON, or has a key like __proto__; send plain JSON.'
  const tooDeep = `The JSON is nested deeper than ${DEPTH_MAX} levels.`
  if (isDeepText(text)) throw new Refusal('bad-request', tooDeep)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal('bad-request', notPlain)
  }
  if (isFlat(value)) return value
  // Before it is searched: that takes as long as it is deep.
  if (isTooDeep(value)) throw new Refusal('bad-request', tooDeep)
  try {
    scan(value as object, { protoAction: 'error', constructorAction: 'error' })
  } catch {
    throw new Refusal('bad-request', notPlain)
  }
  return value
}

/** Every body is JSON. `inTurn` says when this request has its turn to be parsed. */
export function parseBodiesAsJson(
  app: FastifyInstance,
  inTurn: (request: IncomingMessage, work: () => void) => void,
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, ({ raw }, body, done) => {
    inTurn(raw, () => {
      try {
        done(null, jsonFrom(body as Buffer))
      } catch (error) {
        done(error as Error)
      }
    })
  })
  // GET /lock/status may carry its fields in a body.
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  // Fastify would answer 415 to a Content-Type that it cannot read; here it says nothing of interest.
  app.addHook('onRequest', async (request) => {
    delete request.raw.headers['content-type']
  })
}
