import { once } from 'node:events'
import { DEFAULT_STORE, type ServeConfig, type ServeSettings, serveConfig } from '../config/serve-config.ts'
import type { AddCommand, CliContext, RunningServer } from '../context.ts'
import { EXIT, Exit } from '../exit.ts'
import { exitOfSignal, hearing, type StopSignal } from '../interrupt.ts'
import { say } from '../print/say.ts'

/** What keeps the process alive after it has stopped is not waited for. */
const LINGER_MS = 500

export const add: AddCommand = (program, context, done) => {
  program
    .command('serve')
    .description('Run the server. Configuration: TOML file, environment, flags; later wins.')
    .option('--host <host>', 'where to listen (BATON_HOST; default: 127.0.0.1)')
    .option('--port <port>', '0 picks a free one (PORT, BATON_PORT; default: 8086)')
    .option(
      '--store <url>',
      `where the state is kept: ${context.stores.examples} (BATON_STORE; default: ${DEFAULT_STORE})`,
    )
    .option('--config <file>', 'a TOML file (BATON_CONFIG)')
    .option('--tokens <file>', 'a TOML file of [[tokens]] that may enter (BATON_TOKENS)')
    .option('--insecure', 'listen beyond loopback without tokens (BATON_INSECURE)')
    .option(
      '--allowed-host <name>',
      'a name that a server without tokens is called by, beside IP addresses and localhost; repeatable (BATON_ALLOWED_HOST, by commas)',
      (name: string, before?: string) => (before === undefined ? name : `${before},${name}`),
    )
    .option('--tls-cert <file>', "the server's certificate, PEM (BATON_TLS_CERT)")
    .option('--tls-key <file>', 'its key, PEM (BATON_TLS_KEY)')
    .option('--tls-ca <file>', 'ask clients for a certificate of this authority (BATON_TLS_CA)')
    .option('--queueing', 'let requests wait in line (BATON_QUEUEING; default)')
    .option('--no-queueing', 'refuse at once where it is busy (ALLOW_MULTI_NODE_DOWNLOAD=false)')
    .option('--exclusion <of>', 'one grant per `operation` (default) or `resource` (BATON_EXCLUSION)')
    .option(
      '--result-limit <bytes>',
      'the largest result told to others, up to 256KiB (BATON_RESULT_LIMIT; default: 16KiB)',
    )
    .option('--log-level <level>', 'debug, info, warn, error or silent (BATON_LOG_LEVEL; default: info)')
    .option('--log-format <format>', 'json or pretty (BATON_LOG_FORMAT; default: pretty on a terminal, json elsewhere)')
    .addHelpText(
      'after',
      `
The flags of queueing and exclusion are those of the namespace 'default'. The TOML file may hold:
  host = "0.0.0.0"
  port = 8086
  allowed_hosts = ["baton.example"]
  result_limit = "64KiB"
  log_level = "info"
  [quotas.node]                # of one node; [quotas.token]: of all nodes of a token together
  sessions = 10000
  places = 2000000             # grants, and places in line
  references = 1000000
  [tls]
  cert = "server.pem"
  key = "server.key"
  [[tokens]]
  sha256 = "…"                 # printf %s TOKEN | sha256sum
  role = "node"                # or observe, admin
  nodes = ["node-a"]
  [policy.namespaces.default.operations.compile]
  waitersOnSuccess = "skip"    # done once: those who waited skip (default: the next one is granted)
  keepMs = 3600000             # and so do those who come within the hour
  attempts = 3                 # three failures in a row end the queue

Example:
  $ baton serve --port 0 --store file:/var/lib/baton
  baton listening on http://127.0.0.1:40123`,
    )
    .action(async (flags: ServeSettings) => {
      const warn = (sentence: string) => say(context.stderr, `baton: ${sentence}`)
      done(await serve(serveConfig({ flags, env: context.env, warn }), context))
    })
}

async function serve(config: ServeConfig, context: CliContext): Promise<number> {
  const stopped = new AbortController()
  const untilAsked = async () => {
    const server = await start(config, context)
    say(context.stdout, `baton listening on ${server.url}`)
    if (!stopped.signal.aborted) await once(stopped.signal, 'abort')
    await server.stop()
    setTimeout(() => process.exit(EXIT.ok), LINGER_MS).unref()
  }
  const onStop = (signal: StopSignal) => {
    // Whoever asks twice does not want to wait.
    if (stopped.signal.aborted) process.exit(exitOfSignal(signal))
    stopped.abort()
  }
  await hearing(onStop, untilAsked)
  return EXIT.ok
}

async function start(config: ServeConfig, context: CliContext): Promise<RunningServer> {
  try {
    return await context.serve(config)
  } catch (error) {
    const sentence = sentences[(error as NodeJS.ErrnoException).code ?? '']
    if (sentence === undefined) throw error
    throw new Exit(EXIT.unreachable, sentence(config))
  }
}

const sentences: Readonly<Record<string, (config: ServeConfig) => string>> = {
  EADDRINUSE: ({ host, port }) =>
    `port ${port} of ${host} is in use; end what listens there, or choose another with --port (0 picks a free one)`,
  EACCES: ({ port }) => `this user may not listen on port ${port}; choose one above 1023 with --port`,
  EADDRNOTAVAIL: ({ host }) => `${host} is not an address of this machine; choose one that is with --host`,
  ENOTFOUND: ({ host }) => `${host} is not known; choose an address of this machine with --host`,
}
