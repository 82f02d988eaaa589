// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is text of sources.
// Bugs outside of the core, planted one by one into a copy of the sources: each must be caught by the tests that stand with
// it. `npm run planted-bugs` runs them all, `npm run planted-bugs -- floor` those whose name has that word. (Bugs that the
// simulator has to catch are in test/bugs.) A bug whose `find` does not occur exactly once has to be written anew.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MYSQL = 'src/stores/mysql'
const LIMIT_MS = 300_000

const bugs = [
  {
    name: 'a client does not look for places that it does not know of',
    file: 'src/client/unknown-places.ts',
    find: 'if (places <= this.#known().size)',
    replace: 'if (true)',
    tests: ['src/client/unknown-places.test.ts'],
  },
  {
    name: 'a stream that resumes takes the last id before a gap for known',
    file: 'src/service/event-buffer.ts',
    find: 'this.#first = this.#last + 2',
    replace: 'this.#first = this.#last + 1',
    tests: ['src/service/event-buffer.test.ts'],
  },
  {
    name: 'the floor of fences is written as it comes',
    file: `${MYSQL}/commit.ts`,
    find: 'GREATEST(fence_floor, ?)',
    replace: '?',
    tests: [MYSQL, '-t', 'floor'],
  },
  {
    name: 'an observe token falls through to the checks of node tokens',
    file: 'src/server/guard.ts',
    find: "if (token.role === 'observe') throw forbidden(READS_ONLY)\n    if (asked.type",
    replace: 'if (asked.type',
    tests: ['src/server/tokens.test.ts'],
  },
  {
    name: 'the end of a grant is told to the first of two sessions only',
    file: 'src/stores/remote/letter.ts',
    find: '.flatMap(({ sessions }) => sessions)',
    replace: '.flatMap(({ sessions }) => sessions.slice(0, 1))',
    tests: [MYSQL, '-t', 'holds of two sessions'],
  },
  {
    name: 'a session is read without a lock',
    file: `${MYSQL}/open.ts`,
    find: 'AND expires_at_ms > ${nowSql} LOCK IN SHARE MODE',
    replace: 'AND expires_at_ms > ${nowSql}',
    tests: [MYSQL, '-t', 'found alive'],
  },
  {
    name: 'a renewal at the same process does not ask whether the time is over',
    file: `${MYSQL}/sessions.ts`,
    find: 'WHERE session = ? AND process = ? AND ended IS NULL AND expires_at_ms > ${clock.sql}',
    replace: 'WHERE session = ? AND process = ? AND ended IS NULL',
    tests: [MYSQL, '-t', 'not alive|revived'],
  },
  {
    name: 'a renewal at another process does not ask whether the time is over',
    file: `${MYSQL}/sessions.ts`,
    find: 'WHERE session = ? AND ended IS NULL AND expires_at_ms > ${clock.sql} FOR UPDATE',
    replace: 'WHERE session = ? AND ended IS NULL FOR UPDATE',
    tests: [MYSQL, '-t', 'not alive|revived'],
  },
  {
    name: 'routing: a session whose process is not known is told nothing',
    file: 'src/stores/remote/steps.ts',
    find: '...sessions.flatMap((session) => processes.get(session) ?? []), ...found])',
    replace: '...sessions.flatMap((session) => processes.get(session) ?? [])])',
    tests: [MYSQL, '-t', 'holds of two sessions|where it is'],
  },
  {
    name: 'routing: letters are told as they come, beside a step under way',
    file: 'src/stores/remote/deliveries.ts',
    find: 'if (held) held.push(letter)\n    else this.#tell(letter)',
    replace: 'void held\n    this.#tell(letter)',
    tests: ['src/stores/remote/deliveries.test.ts'],
  },
  {
    name: 'sessions: one that has moved away still counts as here',
    file: 'src/stores/remote/sessions.ts',
    find: 'this.#here.delete(session)\n    const renewal',
    replace: 'const renewal',
    tests: [MYSQL, '-t', 'where it is'],
  },
  {
    name: 'codec: the pauses of a retry delay are lost',
    file: 'src/stores/codec.ts',
    find: '  fill(resource.pauses, written.pauses)\n',
    replace: '',
    tests: [MYSQL, '-t', 'pause before'],
  },
  {
    name: 'retry: what may have been done is done again',
    file: `${MYSQL}/commit.ts`,
    find: 'throw isConflict(error) ? error : unknownOutcome(error)',
    replace: 'throw error',
    tests: ['test/stores/mysql.test.ts', '-t', 'commit'],
  },
  {
    name: 'retry: what would fail again is tried until the deadline',
    file: 'src/stores/remote/attempts.ts',
    find: "judged === 'final' || ",
    replace: '',
    tests: ['src/stores/remote/attempts.test.ts'],
  },
  {
    name: 'guard: a node token names any node',
    file: 'src/server/guard.ts',
    find: "if ('node' in asked && asked.node !== undefined && !mayActFor(facts, asked.node)) throw forbidden(NODE_RULE)",
    replace: '',
    tests: ['src/server/tokens.test.ts'],
  },
  {
    name: 'client: a renewed lease counts from its answer instead of its question',
    file: 'src/client/session.ts',
    find: 'this.#renewed(sentAt, reply.places)',
    replace: 'this.#renewed(this.#now(), reply.places)',
    tests: ['src/client/session.test.ts'],
  },
  {
    name: 'stream: what was asked over HTTP counts as asked on the connection that comes after it',
    file: 'src/client/stream/transport.ts',
    find: 'this.#asks.sentElsewhere(request as InputOf<RequestType>)',
    replace: '',
    tests: ['src/client/stream'],
  },
  {
    name: 'stream: an answer that the store could not give ends the book of an ask',
    file: 'src/client/stream/asks.ts',
    find: "if (reply.status === 'refused' && errors[reply.code]?.status >= 500) return",
    replace: '',
    tests: ['src/client/stream'],
  },
  {
    name: 'stream: a release whose asker has not heard the answer is acknowledged',
    file: 'src/client/stream/connection.ts',
    find: "if (call.isGivenUp && call.request.type === 'release') {",
    replace: 'if (false) {',
    tests: ['src/client/stream'],
  },
  {
    name: 'stream: events of a session are not told after a reconnect',
    file: 'src/client/stream/connection.ts',
    find: 'for (const { onEnd } of listens) onEnd(',
    replace: 'for (const { onEnd } of []) onEnd(',
    tests: ['src/client/stream'],
  },
  {
    name: 'stream: a hand-over is no news',
    file: 'src/service/fan-out.ts',
    find: 'return event.handOver',
    replace: 'return false',
    tests: ['src/server/web-socket/listening.test.ts'],
  },
  {
    name: 'stream: every step of a frame is told before it is durable',
    file: 'src/service/service.ts',
    find: 'if (durable) durable.then(() => tellAll(), tellAll)\n    else tellAll()',
    replace: 'tellAll()',
    tests: ['src/server/web-socket/connection.test.ts'],
  },
  {
    name: 'stream: how deep the JSON of a request is does not matter',
    file: 'src/server/web-socket/serve.ts',
    find: 'if (isTooDeep(input))',
    replace: 'if (false)',
    tests: ['src/server/web-socket/serve.test.ts'],
  },
  {
    name: 'stream: the compiled check of an id does not look at it',
    file: 'src/server/compiled-checks.ts',
    find: 'ajv.addFormat(ID_FORMAT, isId)',
    replace: 'ajv.addFormat(ID_FORMAT, () => true)',
    tests: ['src/server/compiled-checks.test.ts'],
  },
]

const root = fileURLToPath(new URL('..', import.meta.url))
const wanted = bugs.filter(({ name }) => process.argv.slice(2).every((word) => name.includes(word)))
const copy = mkdtempSync(join(tmpdir(), 'baton-planted-'))
let escaped = 0
try {
  for (const name of ['src', 'test', 'scripts', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const bug of wanted) if (!isCaught(bug)) escaped++
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${wanted.length - escaped} of ${wanted.length} were caught`)
process.exit(escaped === 0 && wanted.length > 0 ? 0 : 1)

/** The tests pass without the bug, and at least one of them fails with it. */
function isCaught({ name, file, find, replace, tests }) {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  const parts = source.split(find)
  if (parts.length !== 2) throw new Error(`'${name}': its text occurs ${parts.length - 1} times in ${file}, not once`)
  const before = failuresOf(tests)
  writeFileSync(path, parts.join(replace))
  const after = failuresOf(tests)
  writeFileSync(path, source)
  const isSeen = before.length === 0 && after.length > 0
  console.log(`${isSeen ? 'caught ' : 'ESCAPED'} ${name}`)
  for (const failure of isSeen ? after.slice(0, 2) : before) console.log(`          by: ${failure}`)
  return isSeen
}

function failuresOf(tests) {
  const report = join(copy, 'report.json')
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', `--outputFile.json=${report}`, ...tests]
  spawnSync(process.execPath, args, { cwd: copy, timeout: LIMIT_MS, stdio: 'ignore' })
  const { testResults, numTotalTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8'))
  rmSync(report)
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter((each) => each.status === 'failed'),
  )
  if (failed.length === 0 && numPassedTests === 0)
    throw new Error(`${tests.join(' ')}: none of ${numTotalTests} tests ran`)
  return failed.map(({ title }) => title)
}
