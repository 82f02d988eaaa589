#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EXIT, Exit, type RunningServer, runCli, type ServeConfig, type StoreCare, UsageError } from './cli/index.ts'
import type { Policy } from './core/index.ts'
import type { Clock, Store } from './stores/store.ts'
import type { ServerHistory } from './testing/server-history.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
/** Requests under way get this long at a stop; then their connections are cut. */
const DRAIN_MS = 2_000

async function serve({ host, port, store: url, tokens, policy, tls }: ServeConfig): Promise<RunningServer> {
  // Only a server needs them, and to load them takes longer than most other commands do.
  const { buildApp, jsonLines, listen } = await import('./server/index.ts')
  const { Service, systemClock } = await import('./service/index.ts')
  const clock = systemClock()
  const service = new Service({ store: await openRecordedStore(url, { clock, policy }) })
  const app = buildApp({
    service,
    version,
    log: jsonLines((line) => process.stderr.write(`${line}\n`)),
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
  readonly onStep?: ServerHistory['onStep']
}

/** A hook of the tests (see CONTRIBUTING.md): with it, all that the store does is written down. */
async function openRecordedStore(url: string, options: StoreOptions): Promise<Store> {
  const path = process.env.BATON_HISTORY
  if (!path) return openStore(url, options)
  const { openServerHistory } = await import('./testing/server-history.ts')
  const history = openServerHistory(path, () => options.clock.nowMs())
  return history.of(await openStore(url, { ...options, onStep: history.onStep }))
}

/** A store that cannot say what it does, step by step, has to refuse `onStep` with a sentence. */
async function openStore(url: string, options: StoreOptions): Promise<Store> {
  if (isFile(url)) return openFile(url, options)
  if (!isMemory(url)) throw unknownStore(url)
  const { openMemoryStore } = await import('./stores/memory/index.ts')
  return openMemoryStore(options)
}

async function openFile(url: string, options: StoreOptions): Promise<Store> {
  const { openFileStore, nodeDisk } = await import('./stores/file/index.ts')
  // A hook of the tests (see CONTRIBUTING.md): without it, what was acknowledged may be lost.
  const disk = nodeDisk({ sync: process.env.BATON_TEST_NO_SYNC === undefined })
  return inDirectory(url, (directory) => openFileStore({ ...options, directory, disk }))
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

const storeCare: StoreCare = {
  async check(url) {
    if (!isFile(url)) return careOf(url)
    const { checkFileStore } = await import('./stores/file/index.ts')
    const { isSound, findings } = await inDirectory(url, (directory) => checkFileStore(directory))
    if (!isSound) throw new Exit(EXIT.failed, findings.join('\n'))
    return findings.join('\n')
  },
  async repair(url) {
    if (!isFile(url)) return careOf(url)
    const { repairFileStore } = await import('./stores/file/index.ts')
    return (await inDirectory(url, (directory) => repairFileStore(directory))).findings.join('\n')
  },
  migrate: async (url) =>
    isFile(url) ? 'a file store has had one format so far: there is nothing to do' : careOf(url),
}

function careOf(url: string): string {
  if (isMemory(url)) return 'a memory store needs none of it: it lives in its server and is forgotten with it'
  throw unknownStore(url)
}

function isFile(url: string): boolean {
  return url.startsWith('file:')
}

function isMemory(url: string): boolean {
  return url === 'memory:'
}

function unknownStore(url: string): UsageError {
  // A store's URL may hold a password: only its scheme is ever shown.
  return new UsageError(`there is no store '${url.split(':')[0]}:…'; use file:DIR or memory:`)
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
