#!/usr/bin/env node
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EXIT, Exit, type RunningServer, runCli, type ServeConfig, type StoreCare, UsageError } from './cli/index.ts'
import type { Policy } from './core/index.ts'
import { kindOf, mysqlStores, type StoreKind } from './stores/kinds.ts'
import type { Clock, Store } from './stores/store.ts'
import type { ServerHistory } from './testing/server-history.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
/** Requests under way get this long at a stop; then their connections are cut. */
const DRAIN_MS = 2_000

async function serve({
  host,
  port,
  store: url,
  tokens,
  policy,
  isPolicyChosen,
  tls,
}: ServeConfig): Promise<RunningServer> {
  // Only a server needs them, and to load them takes longer than most other commands do.
  const { buildApp, jsonLines, listen } = await import('./server/index.ts')
  const { Service, systemClock } = await import('./service/index.ts')
  const clock = systemClock()
  const store = await openRecordedStore(url, { clock, policy, isPolicyChosen })
  // A client may come to any server with any of its requests, and listens at one.
  await store.hearAll().catch(async (error: Error) => {
    await store.close()
    clock.stop()
    throw new Exit(EXIT.unreachable, error.message)
  })
  const log = jsonLines((line) => process.stderr.write(`${line}\n`))
  const service = new Service({ store, instance: randomBytes(4).toString('hex'), log })
  const app = buildApp({
    service,
    version,
    log,
    ...(tokens.length > 0 && { tokens }),
    ...(tls && { https: { ...tls, ...(tls.ca !== undefined && { requestCert: true, rejectUnauthorized: true }) } }),
  })
  const stop = async () => {
    const cut = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS)
    await app.close()
    clearTimeout(cut)
    await service.close()
    clock.stop()
  }
  try {
    return { url: await listen(app, { host, port }), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface StoreOptions {
  readonly clock: Clock
  readonly policy: Policy
  readonly isPolicyChosen: boolean
  readonly onStep?: ServerHistory['onStep']
}

/** A hook of the tests (see CONTRIBUTING.md): with it, all that the store does is written down. */
async function openRecordedStore(url: string, options: StoreOptions): Promise<Store> {
  const path = process.env.BATON_HISTORY
  if (!path) return openStore(url, options)
  const { openServerHistory } = await import('./testing/server-history.ts')
  const history = openServerHistory(path, () => options.clock.nowMs())
  return history.of(await openStore(url, { ...options, onStep: history.onStep }), {
    answers: storeKind(url) === 'mysql',
  })
}

/** A store that cannot say what it does, step by step, has to refuse `onStep` with a sentence. */
async function openStore(url: string, options: StoreOptions): Promise<Store> {
  switch (storeKind(url)) {
    case 'file':
      return openFile(url, options)
    case 'mysql':
      return openMysql(url, options)
    case 'memory': {
      const { openMemoryStore } = await import('./stores/memory/index.ts')
      return openMemoryStore(options)
    }
  }
}

async function openFile(url: string, options: StoreOptions): Promise<Store> {
  const { openFileStore, nodeDisk } = await import('./stores/file/index.ts')
  // A hook of the tests (see CONTRIBUTING.md): without it, what was acknowledged may be lost.
  const disk = nodeDisk({ sync: process.env.BATON_TEST_NO_SYNC === undefined })
  return inDirectory(url, (directory) => openFileStore({ ...options, directory, disk }))
}

async function openMysql(url: string, { policy, isPolicyChosen, onStep }: StoreOptions): Promise<Store> {
  return inDatabase(({ openMysqlStore }) =>
    openMysqlStore({ url, ...(isPolicyChosen && { policy }), recordHistory: onStep !== undefined }),
  )
}

/** What is wrong with a database is the operator's to mend: a sentence, not a stack. */
async function inDatabase<Result>(
  use: (mysql: typeof import('./stores/mysql/index.ts')) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(await mysqlStores())
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, { cause: error })
    throw new Exit(EXIT.unreachable, (error as Error).message)
  }
}

/** What is wrong with a directory is the operator's to mend: a sentence, not a stack. */
async function inDirectory<Result>(url: string, use: (directory: string) => Promise<Result>): Promise<Result> {
  const { directoryOf } = await import('./stores/file/index.ts')
  const directory = directoryOf(url)
  try {
    return await use(directory)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Exit(EXIT.unreachable, code === undefined ? message : `${directory} cannot be used: ${message}`)
  }
}

/** Each kind of store has its own care. */
const cares: Readonly<Record<StoreKind, StoreCare>> = {
  file: {
    async check(url) {
      const { checkFileStore } = await import('./stores/file/index.ts')
      const { isSound, findings } = await inDirectory(url, (directory) => checkFileStore(directory))
      if (!isSound) throw new Exit(EXIT.failed, findings.join('\n'))
      return findings.join('\n')
    },
    async repair(url) {
      const { repairFileStore } = await import('./stores/file/index.ts')
      return (await inDirectory(url, (directory) => repairFileStore(directory))).findings.join('\n')
    },
    migrate: async () => 'a file store has had one format so far: there is nothing to do',
  },
  mysql: {
    check: (url) => inDatabase(async (mysql) => (await mysql.checkMysqlStore(url)).join('\n')),
    repair: async () => 'a database looks after its own files: there is nothing to repair here',
    migrate: (url, { print }) => inDatabase((mysql) => migrateMysql(mysql, url, print)),
  },
  memory: { check: forgets, repair: forgets, migrate: forgets },
}

const storeCare: StoreCare = {
  check: async (url) => cares[storeKind(url)].check(url),
  repair: async (url) => cares[storeKind(url)].repair(url),
  migrate: async (url, options) => cares[storeKind(url)].migrate(url, options),
}

async function migrateMysql(
  { migrate, migrationsText }: typeof import('./stores/mysql/index.ts'),
  url: string,
  print: boolean,
): Promise<string> {
  if (print) return migrationsText()
  const { applied, version } = await migrate(url)
  const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`
  return `${done}; the tables are of version ${version}`
}

async function forgets(): Promise<string> {
  return 'a memory store needs none of it: it lives in its server and is forgotten with it'
}

function storeKind(url: string): StoreKind {
  try {
    return kindOf(url)
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
}

// A reader that has seen enough (`baton events | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await runCli(process.argv.slice(2), {
  serve,
  storeCare,
  entry: fileURLToPath(import.meta.url),
  version,
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
})
