// biome-ignore-all lint/suspicious/noTemplateCurlyInString: `find` is text of sources.
import type { Bug } from '../bug.ts'

const RESIDENT = 'packages/store/src/resident'
const FILE = 'packages/store/src/file'
const REMOTE = 'packages/store/src/remote'
const MYSQL = 'packages/store-mysql/src'
const MYSQL_STORE = `${MYSQL}/mysql-store.test.ts`

/** Stores in this process, the engine for databases, and MySQL. */
export const storeBugs: readonly Bug[] = [
  {
    name: 'clean-up forgets fences',
    file: `${RESIDENT}/shards.ts`,
    find: 'this.#raiseFenceFloor(slot.shard, highestNumber(resource))',
    replace: '',
    caughtBy: 'simulator',
  },
  {
    name: 'clean-up forgets the numbers of references',
    file: `${RESIDENT}/shards.ts`,
    find: 'this.#raiseFenceFloor(slot.shard, highestNumber(resource))',
    replace: 'this.#raiseFenceFloor(slot.shard, resource.fence)',
    caughtBy: {
      tests: ['packages/store/src/memory/memory-store.test.ts', '-t', 'a late copy of a change of references'],
    },
  },
  {
    name: 'a renewal revives a session that has ended',
    file: `${RESIDENT}/sessions.ts`,
    find: 'if (!session) return SESSION_LOST',
    replace: "if (!session) return { status: 'alive', ttlMs: 1000, places: 0 }",
    caughtBy: 'simulator',
  },
  {
    name: 'a session forgets its places',
    file: `${RESIDENT}/sessions.ts`,
    find: 'for (const place of gained) this.#placesOf(place)?.add(at, place)',
    replace: '',
    caughtBy: 'simulator',
  },
  {
    name: 'a snapshot misses what a resource was before a change',
    file: `${FILE}/snapshot.ts`,
    find: 'resident.beforeChange = (slot) => this.#keep(slot)',
    replace: '',
    caughtBy: { tests: ['packages/store/test/file-recovery.test.ts'] },
  },
  {
    name: 'a snapshot has steps that are not durable',
    file: `${FILE}/snapshot.ts`,
    find: 'await isCovered\n',
    replace: '',
    caughtBy: { tests: ['packages/store/test/file-backup.test.ts', '-t', 'takes back'] },
  },
  {
    name: 'a second restore of a backup begins at the fences of the first',
    file: `${FILE}/restore.ts`,
    find: ', fencesAt(nowMs))',
    replace: ', 0)',
    caughtBy: { tests: ['packages/store/test/file-restore.test.ts', '-t', 'no fence'] },
  },
  {
    name: 'a restored resource has lost its retry delays',
    file: 'packages/store/src/codec.ts',
    find: "toWrite(resource, 'pauses').set(operation, pause)",
    replace: 'void [operation, pause]',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'pause before'] },
  },
  {
    name: 'of two sessions only the first is notified of the end of a grant',
    file: `${REMOTE}/letter.ts`,
    find: '.flatMap(({ sessions }) => sessions)',
    replace: '.flatMap(({ sessions }) => sessions.slice(0, 1))',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'holds of two sessions'] },
  },
  {
    name: 'a session is not notified if its process has to be looked up',
    file: `${REMOTE}/steps.ts`,
    find: ', ...found])',
    replace: '])',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'holds of two sessions|where it is'] },
  },
  {
    name: 'messages about a resource are not held back during a step',
    file: `${REMOTE}/deliveries.ts`,
    find: 'if (held) held.push(letter)\n    else this.#tell(letter)',
    replace: 'this.#tell(letter)',
    caughtBy: { tests: [`${REMOTE}/deliveries.test.ts`] },
  },
  {
    name: 'a session that has moved away still counts as local',
    file: `${REMOTE}/sessions.ts`,
    find: 'this.#here.delete(session)\n    const renewal',
    replace: 'const renewal',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'where it is'] },
  },
  {
    name: 'an error that would recur is retried until the deadline',
    file: `${REMOTE}/attempts.ts`,
    find: "judged === 'final' || ",
    replace: '',
    caughtBy: { tests: [`${REMOTE}/attempts.test.ts`] },
  },
  {
    name: 'MySQL: the fence floor is overwritten with a lower one',
    file: `${MYSQL}/transaction/commit.ts`,
    find: 'GREATEST(fence_floor, ?)',
    replace: '?',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'floor'] },
  },
  {
    name: 'MySQL: a commit of unknown outcome is repeated',
    file: `${MYSQL}/transaction/commit.ts`,
    find: 'throw isConflict(error) ? error : unknownOutcome(error)',
    replace: 'throw error',
    caughtBy: { tests: ['packages/store-mysql/test/mysql.test.ts', '-t', 'unknown outcome'] },
  },
  {
    name: 'MySQL: a session is read without a lock',
    file: `${MYSQL}/transaction/open.ts`,
    find: 'AND expires_at_ms > ${nowSql} LOCK IN SHARE MODE',
    replace: 'AND expires_at_ms > ${nowSql}',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'found alive'] },
  },
  {
    name: 'MySQL: a renewal at the same process revives an expired session',
    file: `${MYSQL}/transaction/sessions.ts`,
    find: 'WHERE session = ? AND process = ? AND ended IS NULL AND expires_at_ms > ${clock.sql}',
    replace: 'WHERE session = ? AND process = ? AND ended IS NULL',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'not alive|revived'] },
  },
  {
    name: 'MySQL: a renewal at another process revives an expired session',
    file: `${MYSQL}/transaction/sessions.ts`,
    find: 'WHERE session = ? AND ended IS NULL AND expires_at_ms > ${clock.sql} FOR UPDATE',
    replace: 'WHERE session = ? AND ended IS NULL FOR UPDATE',
    caughtBy: { tests: [MYSQL_STORE, '-t', 'not alive|revived'] },
  },
]
