/*
 * The tables of a store. Every statement may run twice without harm, because a process can die between two of them. Ids are
 * VARBINARY: compared byte by byte, whatever the collation of the database.
 */

/** Of the tables, and of what stands in them. A store in any other format is refused. */
export const FORMAT = 1

const ID = 'VARBINARY(512) NOT NULL'
const OPTIONS = 'ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4'

function table(name: string, ...lines: string[]): string {
  return `CREATE TABLE IF NOT EXISTS baton_${name} (\n  ${lines.join(',\n  ')}\n) ${OPTIONS}`
}

const SHARDS = Array.from({ length: 32 }, (_, shard) => `(${shard}, 0)`).join(', ')

/** In this order. */
export const tables: readonly string[] = [
  // What forgotten resources have left behind: no fence at or below it is ever granted again.
  table('shards', 'shard SMALLINT NOT NULL PRIMARY KEY', 'fence_floor BIGINT NOT NULL'),
  `INSERT IGNORE INTO baton_shards (shard, fence_floor) VALUES ${SHARDS}`,
  // One row for each resource that is not idle; its lock is what makes a step of it atomic.
  table(
    'resources',
    `namespace ${ID}`,
    `resource ${ID}`,
    'fence BIGINT NOT NULL DEFAULT 0',
    'grants INT NOT NULL DEFAULT 0',
    'waiters INT NOT NULL DEFAULT 0',
    'due_at_ms BIGINT NULL',
    'state LONGBLOB NULL',
    'PRIMARY KEY (namespace, resource)',
    'KEY due (due_at_ms)',
  ),
  table(
    'waiters',
    `namespace ${ID}`,
    `resource ${ID}`,
    `operation ${ID}`,
    'ticket BIGINT NOT NULL',
    `owner ${ID}`,
    `node ${ID}`,
    'revision VARBINARY(512) NULL',
    'due_at_ms BIGINT NULL',
    // Who waits is told where its session is; NULL for one without a session.
    'session VARBINARY(512) NULL',
    'body LONGBLOB NOT NULL',
    'PRIMARY KEY (namespace, resource, operation, ticket)',
    'KEY owners (namespace, resource, operation, owner)',
    'KEY due (namespace, resource, due_at_ms)',
  ),
  // What asks were told in the end, and how holds ended, for those who ask again.
  table(
    'remembered',
    `namespace ${ID}`,
    `resource ${ID}`,
    `operation ${ID}`,
    `owner ${ID}`,
    `hold ${ID}`,
    "kind ENUM('answer', 'released') NOT NULL",
    // The key has no room for another id: a hash of the node tells what several nodes have under one name apart.
    'node_hash VARBINARY(64) NOT NULL',
    'until_ms BIGINT NOT NULL',
    'body LONGBLOB NOT NULL',
    'PRIMARY KEY (namespace, resource, operation, owner, hold, kind, node_hash)',
    'KEY until (until_ms)',
  ),
  table(
    'sessions',
    `session ${ID} PRIMARY KEY`,
    `node ${ID}`,
    'ttl_ms BIGINT NOT NULL',
    'expires_at_ms BIGINT NOT NULL',
    "ended ENUM('left', 'lost') NULL",
    'process VARBINARY(64) NOT NULL',
    'KEY expiry (expires_at_ms)',
  ),
  // What hangs off a session: a hold, a grant not yet claimed, or a place in line.
  table(
    'places',
    `session ${ID}`,
    `namespace ${ID}`,
    `resource ${ID}`,
    `operation ${ID}`,
    `owner ${ID}`,
    `node ${ID}`,
    'PRIMARY KEY (session, namespace, resource, operation, owner, node)',
  ),
  // Events on their way to other processes. Who has read its own deletes them.
  table(
    'mail',
    'process VARBINARY(64) NOT NULL',
    'id BIGINT NOT NULL AUTO_INCREMENT',
    'at_ms BIGINT NOT NULL',
    'body LONGBLOB NOT NULL',
    'PRIMARY KEY (process, id)',
    'KEY ids (id)',
    'KEY age (at_ms)',
  ),
  // One row, which every step reads: the format; the id that tells this store from others; the policy that counts for
  // everybody; the server that was written to last, as another one may have lost its last fences; the processes that hear of
  // every event, until when. It is written last: without it the tables are not complete.
  table(
    'store',
    'id TINYINT NOT NULL PRIMARY KEY',
    'format INT NOT NULL',
    'store_id VARBINARY(64) NOT NULL',
    'policy_version BIGINT NOT NULL',
    'policy LONGBLOB NULL',
    'server VARBINARY(1024) NULL',
    'generation INT NOT NULL',
    'hearers BLOB NULL',
  ),
  `INSERT IGNORE INTO baton_store (id, format, store_id, policy_version, generation) VALUES (1, ${FORMAT}, UUID(), 0, 0)`,
]

/** All of it for a person who runs it by hand. */
export function tablesText(): string {
  return tables.map((statement) => `${statement};\n`).join('')
}
