import type { z } from 'zod'
import type { Request, RequestType } from '../protocol/index.ts'
import { requestSchemas } from '../protocol/schemas.ts'
import { isSurely } from './compiled-checks.ts'
import { Refusal } from './refusal.ts'

/** More than any request has. */
const FIELDS_MAX = 64

/** The request that this input makes, checked and with its defaults filled in. */
export function check(type: RequestType, input: unknown, where = ''): Request {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new Refusal('bad-request', `${where}The request must be a JSON object.`)
  }
  const fields = input as Record<string, unknown>
  fields.type ??= type
  if (fields.type === type && isSurely(type, fields)) return fields as unknown as Request
  // To name what is wrong with each of them would take long.
  if (Object.keys(fields).length > FIELDS_MAX)
    throw new Refusal(
      'bad-request',
      `${where}The request has more than ${FIELDS_MAX} fields; leave out those that it does not take.`,
    )
  const result = requestSchemas[type].safeParse(fields)
  if (result.success) return result.data
  throw new Refusal('bad-request', where + sentenceOf(result.error))
}

export function isRequestType(type: unknown): type is RequestType {
  return typeof type === 'string' && Object.hasOwn(requestSchemas, type)
}

/** Names the field and says what to change. Values are not repeated: they may be long, or secret. */
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
