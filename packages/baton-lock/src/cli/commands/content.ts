import { once } from 'node:events'
import type { Finding } from '@baton-lock/containerd/serve'
import { loadOptional } from '../../optional-package.ts'
import type { DefineCommand } from '../command.ts'
import { tlsOfEnvironment } from '../connection.ts'
import type { CliContext } from '../context.ts'
import { EXIT, Exit, UsageError } from '../exit.ts'
import { hearing } from '../interrupt.ts'
import { renderContentStatus } from '../print/content-status.ts'
import { say, sayJson, sayText } from '../print/say.ts'

interface ContentFlags {
  readonly config?: string
  readonly json?: boolean
}

/** A stop that takes longer than this is not waited for. */
const STOP_MS = 8_000

export const content: DefineCommand = (context) => ({
  name: 'content',
  summary: 'The containerd content store of one node: each layer is fetched once by the whole cluster.',
  flags: [CONFIG],
  notes: CONFIGURATION,
  example: '$ baton content --config /etc/baton/content.toml\nbaton content listening on /run/baton/content.sock',
  run: (flags: ContentFlags) => serve(flags, context),
  commands: [
    {
      name: 'check',
      summary: 'say what is wrong with a configuration, the folders, the union or the lock, and change nothing',
      flags: [CONFIG],
      example: '$ baton content check --config /etc/baton/content.toml',
      run: (flags: ContentFlags) => check(flags, context),
    },
    {
      name: 'status',
      summary: 'who pulls what, how far, and what was saved; of the process that serves the node',
      flags: [CONFIG, ['--json', 'for programs']],
      example: '$ baton content status --config /etc/baton/content.toml',
      run: (flags: ContentFlags) => status(flags, context),
    },
  ],
})

const CONFIG = ['--config <file>', 'the TOML file of the node (BATON_CONTENT_CONFIG)'] as const

const CONFIGURATION = `The file, alike on all nodes but for current_node:
  current_node = "node-a"
  socket_path = "/run/baton/content.sock"
  servers = ["http://10.0.0.1:8086"]    # or store = "mysql://…"; default: the lock_server of the current node
  token_file = "/etc/baton/token"       # where the servers want one (or BATON_TOKEN)
  when_unavailable = "pull-anyway"      # without a lock server, after 5 s; or wait, or fail
  [nodes.node-a]
  root = "/data/node-a"                 # writes ROOT/host, reads the union of all nodes at ROOT/merged
  [nodes.node-b]
  root = "/data/node-b"
containerd finds it by:
  disabled_plugins = ["io.containerd.content.v1.content"]
  [proxy_plugins.baton]
  type = "content"
  address = "/run/baton/content.sock"`

async function serve(flags: ContentFlags, context: CliContext): Promise<number> {
  const { serveContent } = await loaded()
  const config = await configOf(flags, context)
  const stopped = new AbortController()
  await hearing(
    () => stopped.abort(),
    async () => {
      const stop = await told(serveContent(config, await optionsOf(context)))
      say(context.stdout, `baton content listening on ${config.socketPath}`)
      if (!stopped.signal.aborted) await once(stopped.signal, 'abort')
      const late = setTimeout(() => process.exit(EXIT.ok), STOP_MS)
      await stop()
      clearTimeout(late)
    },
  )
  return EXIT.ok
}

async function check(flags: ContentFlags, context: CliContext): Promise<number> {
  const { checkContent } = await loaded()
  const findings = await told(checkContent(await configOf(flags, context), await optionsOf(context)))
  say(context.stdout, ...findings.map(({ how, sentence }) => `${LABELS[how]} ${sentence}`))
  return findings.some(({ how }) => how === 'wrong') ? EXIT.failed : EXIT.ok
}

const LABELS: Readonly<Record<Finding['how'], string>> = { good: 'ok     ', odd: 'warning', wrong: 'WRONG  ' }

async function status(flags: ContentFlags, context: CliContext): Promise<number> {
  const { askStatus } = await loaded()
  const { socketPath } = await configOf(flags, context)
  if (socketPath === undefined) throw new UsageError('the configuration names no socket_path')
  const standing = await told(askStatus(socketPath))
  if (flags.json) sayJson(context.stdout, standing)
  else sayText(context.stdout, renderContentStatus(standing, Date.now()))
  return EXIT.ok
}

async function configOf({ config }: ContentFlags, { env }: CliContext) {
  const path = config ?? (env.BATON_CONTENT_CONFIG || undefined)
  if (path === undefined)
    throw new UsageError('name the file of the node: --config FILE (`baton content --help` shows one)')
  const { readContentConfig } = await loaded()
  return told(Promise.resolve().then(() => readContentConfig(path)))
}

async function optionsOf({ env, stderr }: CliContext) {
  const log = (sentence: string) => say(stderr, `baton: ${sentence}`)
  return { log, token: env.BATON_TOKEN || undefined, tls: await tlsOfEnvironment(env) }
}

/** Installed by those who use it. */
async function loaded() {
  try {
    return await loadOptional('baton content', '@baton-lock/containerd', () => import('@baton-lock/containerd/serve'))
  } catch (cause) {
    if (cause instanceof TypeError) throw new UsageError(cause.message, { cause })
    throw cause
  }
}

/** What the content store says is wrong is the operator's to mend. */
async function told<Value>(work: Promise<Value>): Promise<Value> {
  const { ContentError } = await loaded()
  return work.catch((error) => {
    if (!(error instanceof ContentError)) throw error
    if (error.code === 'bad-config') throw new UsageError(error.message, { cause: error })
    throw new Exit(error.code === 'unavailable' ? EXIT.unreachable : EXIT.failed, error.message)
  })
}
