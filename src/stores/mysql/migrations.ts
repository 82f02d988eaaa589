/*
 * The tables, as numbered steps. A step that was released is never changed; a new one is added. Every statement may run
 * twice without harm, because a process can die between two of them. Ids are VARBINARY: compared byte by byte, whatever
 * the collation of the database.
 */
interface Migration {
  readonly number: number
  readonly statements: readonly string[]
}

const ID = 'VARBINARY(512) NOT NULL'
const OPTIONS = 'ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4'

function table(name: string, ...lines: string[]): string {
  return `CREATE TABLE IF NOT EXISTS baton_${name} (\n  ${lines.join(',\n  ')}\n) ${OPTIONS}`
}

const SHARDS = Array.from({ length: 32 }, (_, shard) => `(${shard}, 0)`).join(', ')

export const migrations: readonly Migration[] = [
  {
    number: 1,
    statements: [
      // One row, which every step reads: the policy that counts for everybody; the server that was written to last, as
      // another one may have lost its last fences; the processes that hear of every event, until when.
      table(
        'store',
        'id TINYINT NOT NULL PRIMARY KEY',
        'policy_version BIGINT NOT NULL',
        'policy LONGBLOB NULL',
        'server VARBINARY(1024) NULL',
        'generation INT NOT NULL',
        'hearers BLOB NULL',
      ),
      'INSERT IGNORE INTO baton_store (id, policy_version, generation) VALUES (1, 0, 0)',
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
        'until_ms BIGINT NOT NULL',
        'body LONGBLOB NOT NULL',
        'PRIMARY KEY (namespace, resource, operation, owner, hold, kind)',
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
        'PRIMARY KEY (session, namespace, resource, operation, owner)',
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
    ],
  },
  {
    number: 2,
    statements: [
      // An actor is a node and an owner. `node` is empty where version 1 has written the row, and then stands for any.
      `ALTER TABLE baton_places ADD COLUMN node ${ID} DEFAULT '',
  DROP PRIMARY KEY, ADD PRIMARY KEY (session, namespace, resource, operation, owner, node)`,
      // A key has no room for another id: a hash of the node tells what several nodes have under one name apart.
      `ALTER TABLE baton_remembered ADD COLUMN node_hash VARBINARY(64) NOT NULL DEFAULT '',
  DROP PRIMARY KEY, ADD PRIMARY KEY (namespace, resource, operation, owner, hold, kind, node_hash)`,
    ],
  },
  {
    number: 3,
    statements: [
      // Who waits is told where its session is. Empty for one without a session, and where version 2 has written the row.
      'ALTER TABLE baton_waiters ADD COLUMN session VARBINARY(512) NULL',
    ],
  },
  {
    number: 4,
    statements: [
      // Tells this store from others: clients notice servers that are over different ones.
      'ALTER TABLE baton_store ADD COLUMN store_id VARBINARY(64) NULL',
      'UPDATE baton_store SET store_id = UUID() WHERE store_id IS NULL',
    ],
  },
]

export const MIGRATIONS_TABLE = table(
  'migrations',
  'number INT NOT NULL PRIMARY KEY',
  'applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP',
)

/** All of it for a person who runs it by hand. */
export function migrationsText(): string {
  const steps = migrations.flatMap(({ number, statements }) => [
    `-- ${number}`,
    ...statements.map((statement) => `${statement};`),
    `INSERT IGNORE INTO baton_migrations (number) VALUES (${number});`,
  ])
  return [`${MIGRATIONS_TABLE};`, ...steps, ''].join('\n')
}
