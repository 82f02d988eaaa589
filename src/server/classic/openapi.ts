const text = { type: 'string', minLength: 1 }
const ask = {
  type: 'object',
  required: ['type', 'resource_id', 'node_id'],
  properties: { type: text, resource_id: text, node_id: text },
}
const outcome = {
  ...ask,
  properties: { ...ask.properties, error: { type: 'string' }, success: { type: 'boolean' } },
}
const inQuery = (...names: string[]) =>
  names.map((name) => ({ name, in: 'query', required: name !== 'node_id', schema: text }))
const json = (schema: object) => ({ required: true, content: { 'application/json': { schema } } })
const answers = {
  200: { description: 'answered' },
  400: { description: 'not JSON, or a field is missing' },
  403: { description: 'refused' },
}

/** The classic paths, for /openapi.json. */
export const classicPaths = {
  '/lock': {
    post: { summary: 'Ask for the lock, ask again, or claim it.', requestBody: json(ask), responses: answers },
  },
  '/unlock': { post: { summary: 'Report the outcome and let go.', requestBody: json(outcome), responses: answers } },
  '/lock/subscribe': {
    get: {
      summary: 'Hear of success and hand-over (SSE).',
      parameters: inQuery('type', 'resource_id', 'node_id'),
      responses: answers,
    },
  },
  '/lock/status': {
    get: {
      summary: 'Whether this node holds it, and how it ended.',
      parameters: inQuery('type', 'resource_id', 'node_id'),
      responses: answers,
    },
    post: { summary: 'The same, asked in a body.', requestBody: json(ask), responses: answers },
  },
} as const
