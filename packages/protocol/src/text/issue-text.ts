/** What a schema says about one place of its input. */
interface Issue {
  readonly code?: string | undefined
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
  readonly expected?: string
}

/**
 * Names the place and says what to change, without a full stop. It does not repeat values: they may be long, or secret. `whole` names the
 * input itself.
 */
export function issueText(issue: Issue, whole = ''): string {
  const place = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys?.map((key) => JSON.stringify(key.slice(0, 64))).join(', ')
    return `${before(place)}unknown field ${keys}; remove it`
  }
  return `${before(place || whole)}${whatToChange(issue)}`
}

/** The same of all issues. */
export function issuesText(issues: readonly Issue[]): string {
  return issues.map((issue) => issueText(issue)).join('; ')
}

function before(place: string): string {
  return place === '' ? '' : `${place}: `
}

function whatToChange({ code, message, expected = '' }: Issue): string {
  if (code === 'invalid_type' && message.endsWith('received undefined'))
    return `is missing; give ${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`
  return message.replace(/\.$/, '')
}
