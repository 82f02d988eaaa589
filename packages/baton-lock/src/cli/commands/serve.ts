import { once } from 'node:events'
import { isatty } from 'node:tty'
import type { DefineCommand, Flag } from '../command.ts'
import { type ServeConfig, serveConfig } from '../config/serve-config.ts'
import { flagOf, type ServeSettings, type Setting, settingRows, variablesOf } from '../config/serve-settings.ts'
import { WatchedFiles } from '../config/watched-files.ts'
import type { CliContext, RunningServer } from '../context.ts'
import { EXIT, Exit } from '../exit.ts'
import { exitOfSignal, hearing, type StopSignal } from '../interrupt.ts'
import { say } from '../print/say.ts'

/** What keeps the process alive after it has stopped is not waited for. */
const LINGER_MS = 500

export const serve: DefineCommand = (context) => ({
  name: 'serve',
  summary: 'Run the server. Configuration: TOML file, environment, flags; later wins.',
  flags: settingRows.flatMap(([key, setting]) => flagsOf(key, setting, context)),
  notes: `The flags of queueing and exclusion are those of the namespace 'default'. The TOML file may hold:
  host = "0.0.0.0"
  port = 8086
  allowed_hosts = ["baton.example"]
  result_limit = "64KiB"
  log_level = "info"
  audit = "audit.jsonl"
  [quotas.node]                # of one node; [quotas.token]: of all nodes of a token together
  sessions = 10000
  places = 2000000             # grants, and places in line
  references = 1000000
  [tls]
  cert = "server.pem"
  key = "server.key"
  [[tokens]]                   # \`baton token new\` makes these, in a file of their own
  sha256 = "…"                 # printf %s TOKEN | sha256sum
  role = "node"                # or observe, admin
  nodes = ["node-a"]
  [policy.namespaces.default.operations.compile]
  waitersOnSuccess = "skip"    # done once: those who waited skip (default: the next one is granted)
  keepMs = 3600000             # and so do those who come within the hour
  attempts = 3                 # three failures in a row end the queue

Tokens and certificates are read anew when their files change, and on SIGHUP.`,
  example: '$ baton serve --port 0 --store file:/var/lib/baton\nbaton listening on http://127.0.0.1:40123',
  run(flags: ServeSettings) {
    const warn = (sentence: string) => say(context.stderr, `baton: ${sentence}`)
    return runServer(serveConfig({ flags, env: context.env, warn }), context)
  },
})

/** The environment writes a list with commas, and so does this. */
const joined = (value: string, before?: string) => (before === undefined ? value : `${before},${value}`)

function flagsOf(key: string, setting: Setting, { stores }: CliContext): Flag[] {
  const { kind, value, negation, says, default: usual } = setting
  const [own = '', ...others] = variablesOf(key, setting)
  const heard = [own, ...others.filter((name) => !name.startsWith('BATON_NO_'))].join(', ')
  const usually = usual === undefined ? '' : `; default: ${usual}`
  const help = `${says.replace('STORES', stores.examples)} (${heard}${usually})`
  const name = value === undefined ? flagOf(key) : `${flagOf(key)} <${value}>`
  const flag: Flag = kind.isList ? [name, help, joined] : [name, help]
  if (negation === undefined) return [flag]
  return [flag, [flagOf(key).replace('--', '--no-'), `${negation} (${others[0]})`]]
}

async function runServer(config: ServeConfig, context: CliContext): Promise<number> {
  const stopped = new AbortController()
  let server: RunningServer | undefined
  const untilAsked = async () => {
    server = await start(config, context)
    const watched = watch(config, server)
    say(context.stdout, `baton listening on ${server.url}`)
    if (!stopped.signal.aborted) await once(stopped.signal, 'abort')
    watched.close()
    await server.stop()
    setTimeout(() => process.exit(EXIT.ok), LINGER_MS).unref()
  }
  const hadTerminal = context.stdout.isTTY
  const onHangUp = () => {
    // The terminal has been closed, and nobody is there any more who could end it otherwise.
    if (hadTerminal && !isatty(1)) stopped.abort()
    else server?.reload({ isAsked: true })
  }
  const onStop = (signal: StopSignal) => {
    // Whoever asks twice does not want to wait.
    if (stopped.signal.aborted) process.exit(exitOfSignal(signal))
    stopped.abort()
  }
  await hearing(onStop, () => hearing(onHangUp, untilAsked, ['SIGHUP']), ['SIGINT', 'SIGTERM'])
  return EXIT.ok
}

function watch({ reloadable: { files } }: ServeConfig, server: RunningServer): WatchedFiles {
  return new WatchedFiles(files, {
    onChange: () => server.reload({ isAsked: false }),
    onTrouble: (folder, { message: error }) =>
      server.warn('changes of files are not noticed: send SIGHUP after each', { folder, error }),
  })
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
