import { z } from 'zod'
import { askSchema, lockSchema, unlockSchema } from './ask.ts'

const bodyOf = (schema: z.ZodType) => {
  const { $schema: _, ...body } = z.toJSONSchema(schema, { io: 'input' })
  return { required: true, content: { 'application/json': { schema: body } } }
}
const inQuery = (needed: readonly string[], optional: readonly string[] = []) =>
  [...needed, ...optional].map((name) => ({
    name,
    in: 'query',
    required: needed.includes(name),
    schema: { type: 'string', minLength: 1 },
  }))
const responses = {
  200: { description: 'answered' },
  400: { description: 'not JSON, or a field is missing' },
  403: { description: 'refused' },
}

/** The classic paths, for /openapi.json. */
export const classicDescriptions = () => ({
  '/lock': {
    post: { summary: 'Ask for the lock, ask again, or claim it.', requestBody: bodyOf(lockSchema), responses },
  },
  '/unlock': { post: { summary: 'Report the outcome and let go.', requestBody: bodyOf(unlockSchema), responses } },
  '/lock/subscribe': {
    get: {
      summary: 'Hear of success and hand-over (SSE).',
      parameters: inQuery(['type', 'resource_id'], ['node_id']),
      responses,
    },
  },
  '/lock/status': {
    get: {
      summary: 'Whether this node holds it, and how it ended.',
      parameters: inQuery(['type', 'resource_id', 'node_id']),
      responses,
    },
    post: { summary: 'The same, asked in a body.', requestBody: bodyOf(askSchema), responses },
  },
})
