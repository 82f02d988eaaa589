import type { Request, RequestType } from '@baton-lock/protocol'
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

/** Names the field and says what to change. It does not repeat values: they may be long, or secret. */
export function sentenceOf(error: z.ZodError): string {
  const issue = error.issues[0]
  if (!issue) return 'The request is not as the interface asks.'
  const field = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => JSON.stringify(key.slice(0, 64))).join(', ')
    return `${field === '' ? '' : `${field}: `}unknown field ${keys}; remove it.`
  }
  return `${field === '' ? 'The request' : field}: ${issueText(issue)}.`
}

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return `is missing; give ${article(issue.expected)}`
  if (issue.code === 'invalid_union' && issue.discriminator !== undefined)
    return 'must be success, failure or cancelled'
  return issue.message.replace(/\.$/, '')
}

function article(expected: string): string {
  return `${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`
}
