import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isBackedUp, type OpenStoreOptions, type StoreFound, type StoreKind } from '@baton-lock/store/kind'
import type { Store } from '@baton-lock/store/store'
import {
  EXIT,
  Exit,
  exitOf,
  paintFor,
  type RunningServer,
  runCli,
  type ServeConfig,
  type StoreMaintenance,
  UsageError,
} from './cli/index.ts'
import { examplesOf, loadKind, rowOf, storeTable } from './store-table.ts'

/** From a signal to the end. Requests under way and streams get the first part of it; the rest is for the store. */
const STOP_MS = 10_000
const DRAIN_MS = 8_000

/** What `baton` is started with. */
interface ProgramOptions {
  /** The file of the program, in a folder beside its package.json. `baton demo` starts it again. */
  readonly entry: string
  /** Opens the store of a server. */
  readonly openStore: (url: string, options: OpenStoreOptions) => Promise<Store>
}

async function serve(
  { openStore: openServedStore, version }: Pick<ProgramOptions, 'openStore'> & { readonly version: string },
  {
    host,
    port,
    store: url,
    tokens,
    allowedHosts,
    policy,
    isPolicyChosen,
    resultLimit,
    quotas,
    tls,
    audit: auditPath,
    reloadable,
    logLevel: level,
    logFormat = process.stderr.isTTY ? 'pretty' : 'json',
  }: ServeConfig,
): Promise<RunningServer> {
  // Only a server needs it, and to load it takes longer than most other commands do.
  const server = await import('@baton-lock/server')
  const { AuditFile, buildApp, limitsFor, listen, Reload, Service, Statistics, systemClock, systemTimers } = server
  const clock = systemClock()
  const write = (line: string) => process.stderr.write(`${line}\n`)
  const log =
    logFormat === 'json'
      ? server.jsonLines(write, { level })
      : server.prettyLines(write, { level, paint: paintFor(process.stderr, process.env) })
  const audit =
    auditPath === undefined ? undefined : openAudit(() => new AuditFile({ path: auditPath, log, wallMs: Date.now }))
  let found: StoreFound | undefined
  const onFound = (store: StoreFound) => {
    found = store
  }
  const onSession = log.isDebug ? server.sessionLog(log) : undefined
  const store = await onStore(() => openServedStore(url, { clock, policy, isPolicyChosen, log, onFound, onSession }))
  // A client may come to any server with any of its requests, and listens at one.
  await store.hearAll().catch(async (error: Error) => {
    await store.close()
    clock.stop()
    throw new Exit(EXIT.unreachable, error.message)
  })
  const service = new Service({
    store,
    instance: crypto.getRandomValues(Buffer.alloc(4)).toString('hex'),
    log,
    resultLimit,
    quotas,
    statistics: new Statistics({ sinceMs: store.nowMs() }),
    version,
  })
  const app = buildApp({
    service,
    version,
    log,
    allowedHosts,
    limits: limitsFor(resultLimit),
    onCatchUp: clock.onCatchUp,
    backup: isBackedUp(store) ? () => store.backup() : undefined,
    ...(audit && { audit: audit.write }),
    ...(tokens.length > 0 && { tokens }),
    ...(tls && { https: { ...tls, ...(tls.ca !== undefined && { requestCert: true, rejectUnauthorized: true }) } }),
  })
  const close = () => {
    clock.stop()
    audit?.close()
  }
  const reload = new Reload(app, { log, tokens, tls, ...reloadable })
  try {
    const at = await listen(app, { host, port })
    const isOpenTo = tls?.ca === undefined ? 'on' : 'client certificates'
    void server.logStart(log, service, {
      ...{ url: at, version, resultLimit, quotas, tokens: tokens.length, tls: tls ? isOpenTo : 'off' },
      store: { kind: rowOf(url).name, ...found },
    })
    return {
      url: at,
      async stop() {
        const times = { timers: systemTimers, nowMs: () => performance.now(), drainMs: DRAIN_MS, limitMs: STOP_MS }
        // Connections that are not read any more, and the timers of a server, do not keep a process alive.
        const alive = setInterval(() => {}, STOP_MS)
        await server.stop({ app, service, log, ...times })
        clearInterval(alive)
        close()
      },
      reload({ isAsked }) {
        if (isAsked) audit?.reopen()
        reload.run({ isAsked })
      },
      warn: log.warn,
    }
  } catch (error) {
    await app.close()
    await service.close()
    close()
    throw error
  }
}

/** A file that cannot be written is the operator's to mend: a sentence, not a stack. */
function openAudit<File>(open: () => File): File {
  try {
    return open()
  } catch (cause) {
    throw new UsageError(`cannot write the audit file: ${(cause as Error).message}; name another with --audit`, {
      cause,
    })
  }
}

const storeMaintenance: StoreMaintenance = {
  async check(url) {
    const { isSound, findings } = await onKind(url, (kind) => kind.check(url))
    if (!isSound) throw new Exit(EXIT.failed, findings.join('\n'))
    return findings.join('\n')
  },
  'raise-fences': async (url, options) => (await onKind(url, (kind) => kind.raiseFences(url, options))).join('\n'),
  backup: async (url, options) => (await onKind(url, (kind) => kind.backup(url, options))).join('\n'),
  saveBackup: (chunks, options) =>
    onStore(async () => {
      const { saveBackup } = await import('@baton-lock/store/file')
      return saveBackup(chunks, options)
    }),
  restore: async (url, options) =>
    (await onKind(url, (kind) => kind.restore(url, { ...options, nowMs: Date.now() }))).join('\n'),
  create: async (url, options) => (await onKind(url, (kind) => kind.create(url, options))).join('\n'),
}

function onKind<Result>(url: string, use: (kind: StoreKind) => Promise<Result>): Promise<Result> {
  return onStore(async () => use(await loadKind(rowOf(url))))
}

/** What is wrong with a store, or with its URL, is the operator's to mend: a sentence, not a stack. */
async function onStore<Result>(use: () => Promise<Result>): Promise<Result> {
  try {
    return await use()
  } catch (cause) {
    if (cause instanceof TypeError) throw new UsageError(cause.message, { cause })
    throw new Exit(EXIT.unreachable, exitOf(cause).sentence)
  }
}

/** Runs the command line of this process. */
export async function runProgram({ entry, openStore: openServedStore }: ProgramOptions): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(dirname(entry), '../package.json'), 'utf8'))
  // A reader that has seen enough (`baton events | head`) is no error. Those who serve others go on without one.
  const isServing = ['serve', 'content'].includes(process.argv[2] ?? '')
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isServing) process.exit(error.code === 'EPIPE' ? 0 : 1)
  })
  // What nobody reads is lost, and no work ends for it.
  process.stderr.on('error', () => {})

  process.exitCode = await runCli(process.argv.slice(2), {
    serve: (config) => serve({ openStore: openServedStore, version }, config),
    stores: {
      examples: examplesOf(storeTable),
      sharedExamples: examplesOf(storeTable.filter(({ isShared }) => isShared)),
      isShared: (url) => rowOf(url).isShared,
      hasClock: (url) => rowOf(url).clock === 'store',
    },
    storeMaintenance,
    entry,
    version,
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
  })
}
