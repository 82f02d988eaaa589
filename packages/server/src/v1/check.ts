import { issueText, type Request, type RequestType } from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import type { z } from 'zod'
import { Refusal } from '../refusal.ts'

/** More than any request has. */
const FIELDS_MAX = 64

/**
 * Validates the input of a request and fills in its defaults. `type`: by its route; otherwise the input names it itself. `where` begins
 * the sentence of a refusal.
 */
export function check(input: unknown, type: unknown = typeIn(input), where = ''): Request {
  if (!isRequestType(type)) throw new Refusal('bad-request', 'type: must be that of a request.')
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new Refusal('bad-request', `${where}The request must be a JSON object.`)
  }
  // Naming what is wrong with each of thousands of fields would take long.
  if (hasTooManyFields(input))
    throw new Refusal(
      'bad-request',
      `${where}The request has more than ${FIELDS_MAX} fields; leave out those that it does not take.`,
    )
  const fields = input as Record<string, unknown>
  fields.type ??= type
  const result = requestSchemas[type].safeParse(fields)
  if (result.success) return result.data
  throw new Refusal('bad-request', where + sentenceOf(result.error))
}

export function typeIn(input: unknown): unknown {
  return (input as { type?: unknown } | null | undefined)?.type
}

function hasTooManyFields(input: object): boolean {
  let count = 0
  for (const _ in input) if (++count > FIELDS_MAX) return true
  return false
}

export function isRequestType(type: unknown): type is RequestType {
  return typeof type === 'string' && Object.hasOwn(requestSchemas, type)
}

/** A sentence for the first thing that is wrong. */
export function sentenceOf({ issues: [issue] }: z.ZodError): string {
  if (!issue) return 'The request is not as the interface asks.'
  if (issue.code === 'invalid_union' && issue.discriminator !== undefined)
    return `${issueText({ ...issue, message: 'must be success, failure or cancelled' }, 'The request')}.`
  return `${issueText(issue, 'The request')}.`
}
