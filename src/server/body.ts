import type { FastifyInstance } from 'fastify'
import { DEPTH_MAX, isTooDeep } from './depth.ts'
import { Refusal } from './refusal.ts'

/** Every body is JSON, whatever its Content-Type says. */
export function parseBodiesAsJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  const decoder = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    let text: string
    try {
      text = decoder.decode(body as Buffer)
    } catch {
      return done(new Refusal('bad-request', 'The body is not UTF-8; send JSON in UTF-8.'))
    }
    if (text.length === 0) return done(null, undefined)
    parse(request, text, (error, value) => {
      if (error) done(new Refusal('bad-request', 'The body is not JSON, or has a key like __proto__; send plain JSON.'))
      else if (isTooDeep(value)) done(new Refusal('bad-request', `The JSON is nested deeper than ${DEPTH_MAX} levels.`))
      else done(null, value)
    })
  })
  // GET /lock/status may carry its fields in a body.
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  // Fastify would answer 415 to a Content-Type that it cannot read; here it says nothing of interest.
  app.addHook('onRequest', async (request) => {
    delete request.raw.headers['content-type']
  })
}
