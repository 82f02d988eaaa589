// What a JSON report of vitest says, in lines for the end of `npm test`.
import { relative } from 'node:path'

const CHARS = 300

/** One line a test that has failed: its file, its name, and what was wrong. A file that could not be run is one line too. */
export function failuresIn({ testResults }, root) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name)
    const failed = assertionResults.filter((each) => each.status === 'failed')
    if (failed.length === 0) return status === 'failed' ? [`failed: ${file}: ${firstLine(message)}`] : []
    return failed.map(
      ({ fullName, failureMessages }) => `failed: ${file}: ${fullName}: ${firstLine(failureMessages[0])}`,
    )
  })
}

/** How long each file took. */
export function slowestIn({ testResults }, root) {
  return testResults.map(({ name, startTime, endTime }) => ({
    file: relative(root, name),
    seconds: (endTime - startTime) / 1_000,
  }))
}

/** Of a test that took too long, the report has a stack without its message. */
const LATE = 'Error: STACK_TRACE_ERROR'

function firstLine(text = '') {
  const [line] = text.trim().split('\n')
  return line === LATE ? 'it took longer than it may' : line.slice(0, CHARS)
}
