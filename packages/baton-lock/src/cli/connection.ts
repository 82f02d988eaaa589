import { type Baton, type ConnectOptions, RefusedError, type WhenUnavailable } from '@baton-lock/client'
import type { CliContext } from './context.ts'
import { EXIT, Exit, UsageError } from './exit.ts'
import { clearLine, say } from './print/say.ts'

export interface ConnectionFlags {
  readonly server?: string
  readonly store?: string
  readonly namespace?: string
  readonly token?: string
  readonly node?: string
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
}

export const DEFAULT_SERVER = 'http://127.0.0.1:8086'

/** What is shown to a server. */
export const credentialFlags: readonly (readonly [flag: string, help: string])[] = [
  ['--token <token>', 'the bearer token; better in BATON_TOKEN, where others cannot see it'],
  ['--tls-ca <file>', 'trust the servers of this authority, PEM (BATON_CA)'],
  ['--tls-cert <file>', 'the certificate that shows who asks, PEM (BATON_CERT)'],
  ['--tls-key <file>', 'its key, PEM (BATON_KEY)'],
]

/** The flags of every command that talks to Baton. */
export function connectionFlags({ stores }: CliContext): readonly (readonly [flag: string, help: string])[] {
  return [
    ['--server <url,…>', `the servers, by commas (BATON_SERVER; default: ${DEFAULT_SERVER})`],
    [
      '--store <url>',
      `work on a store directly, without a server, e.g. ${stores.sharedExamples} (BATON_STORE, if several processes share it)`,
    ],
    ['--namespace <name>', 'part of every key (BATON_NAMESPACE; default: default)'],
    ...credentialFlags,
  ]
}

interface ConnectionChoice {
  readonly node?: string
  readonly ttlMs?: number
  readonly whenUnavailable?: WhenUnavailable
  /** Default: a line on stderr. */
  readonly onNotice?: (notice: string) => void
}

/** Connects, does the work, and closes whatever happens. */
export async function withBaton<Result>(
  flags: ConnectionFlags,
  context: CliContext,
  work: (baton: Baton) => Promise<Result>,
  choice: ConnectionChoice = {},
): Promise<Result> {
  try {
    const baton = await reach(flags, { ...(await optionsOf(flags, context)), ...choice }, context)
    try {
      return await work(baton)
    } finally {
      await baton.close()
    }
  } catch (error) {
    throw withTokenAdvice(error, flags, context)
  }
}

/** Says what to do about a token that was refused. Returns other errors as they are. */
export function withTokenAdvice(error: unknown, flags: ConnectionFlags, context: CliContext): unknown {
  if (!(error instanceof RefusedError) || error.code !== 'unauthorised') return error
  return new Exit(EXIT.unauthorised, tokenSentence(error.message, flags, context))
}

/** The first of the servers that are named, and what a request to it shows. */
export async function firstServer(flags: ConnectionFlags, context: CliContext) {
  const { token, tls } = await optionsOf(flags, context)
  const [url] = serversOf(flags.server ?? (context.env.BATON_SERVER || DEFAULT_SERVER))
  return { url: url!, token, tls }
}

/** What to do about a token depends on where the one that was sent came from, if there was one. `said`: by the server. */
function tokenSentence(said: string, { token }: ConnectionFlags, { env }: CliContext): string {
  if (token === undefined && !env.BATON_TOKEN) {
    return said.includes('certificate')
      ? 'the server has no entry for this certificate: put a token into BATON_TOKEN, or have one written (`baton token new --certificate`)'
      : 'the server wants a token: put yours into BATON_TOKEN'
  }
  const from = token === undefined ? 'in BATON_TOKEN' : 'of --token'
  const [, expired] = /has expired, on ([\d:.TZ-]+)/.exec(said) ?? []
  if (expired !== undefined)
    return `the token ${from} has expired, on ${expired}: have another one made (\`baton token new\`)`
  return `the server does not know the token ${from}: compare its SHA-256 with those in the tokens file of the server`
}

async function reach(flags: ConnectionFlags, options: ConnectOptions, context: CliContext): Promise<Baton> {
  if (flags.server !== undefined && flags.store !== undefined) {
    throw new UsageError('--server and --store exclude one another; name one of them')
  }
  try {
    const { server, store } = chosenBy(flags, context)
    return await (store === undefined
      ? connectTo(serversOf(server ?? DEFAULT_SERVER), options)
      : openStore(store, options))
  } catch (cause) {
    // How the SDK says that it was given something wrong; here that came from the command line.
    if (cause instanceof TypeError) throw new UsageError(cause.message, { cause })
    throw cause
  }
}

/** A store where it goes without a server; otherwise a server, where one is named. */
export function chosenBy(
  flags: ConnectionFlags,
  context: CliContext,
): { readonly server?: string; readonly store?: string } {
  const server = flags.server ?? (context.env.BATON_SERVER || undefined)
  const store = flags.store ?? (server === undefined ? sharedStore(context) : undefined)
  return { ...(server !== undefined && { server }), ...(store !== undefined && { store }) }
}

/** The URLs for messages, without passwords. */
export function placeOf(flags: ConnectionFlags, context: CliContext): string {
  const { server, store } = chosenBy(flags, context)
  const urls = store === undefined ? serversOf(server ?? DEFAULT_SERVER) : [store]
  return urls.map(withoutPassword).join(', ')
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url.split(':', 1)[0]!
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}${host === '' ? '' : '//'}${host}${pathname.replace(/\/$/, '')}`
}

/** Each is loaded when it is needed: a command that takes longer to start than its work takes is not used. */
async function connectTo(servers: readonly string[], options: ConnectOptions): Promise<Baton> {
  const { connect } = await import('@baton-lock/client')
  return connect(servers, options)
}

async function openStore(store: string, options: ConnectOptions): Promise<Baton> {
  const { open } = await import('../open.ts')
  return open(store, options)
}

/** That of the flags or of the environment. Nothing where none is named: then lists go over all. */
export function namespaceOf({ namespace }: ConnectionFlags, { env }: Pick<CliContext, 'env'>): string | undefined {
  return namespace ?? (env.BATON_NAMESPACE || undefined)
}

/** A server's own store is no way around it: only one that processes share. */
function sharedStore({ env: { BATON_STORE: store }, stores }: CliContext): string | undefined {
  return store && stores.isShared(store) ? store : undefined
}

async function optionsOf(flags: ConnectionFlags, { env, stderr }: CliContext): Promise<ConnectOptions> {
  const tls = await tlsOf(flags, env)
  return {
    node: flags.node ?? (env.BATON_NODE || undefined),
    namespace: namespaceOf(flags, { env }),
    token: flags.token ?? (env.BATON_TOKEN || undefined),
    ...(tls && { tls }),
    whenUnavailable: 'fail',
    // Nobody records spans in this process.
    tracer: false,
    // On a terminal a line may stand there that says how long it has waited.
    onNotice(notice) {
      if (stderr.isTTY) clearLine(stderr)
      say(stderr, `baton: ${notice}`)
    },
  }
}

/** For commands that take none of these flags. */
export function tlsOfEnvironment(env: NodeJS.ProcessEnv): Promise<ConnectOptions['tls']> {
  return tlsOf({}, env)
}

/** A client's own files: BATON_TLS_… are those of a server. */
async function tlsOf(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<ConnectOptions['tls']> {
  const ca = flags.tlsCa ?? (env.BATON_CA || undefined)
  const cert = flags.tlsCert ?? (env.BATON_CERT || undefined)
  const key = flags.tlsKey ?? (env.BATON_KEY || undefined)
  if (ca === undefined && cert === undefined && key === undefined) return undefined
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError(
      'a certificate goes with its key: name both with --tls-cert FILE and --tls-key FILE (BATON_CERT, BATON_KEY)',
    )
  }
  // TLS takes its time to load, and most do without.
  const { readPem } = await import('./config/pem.ts')
  return readPem({ ca, cert, key })
}

function serversOf(text: string): string[] {
  const servers = text
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '')
  for (const server of servers) {
    const scheme = URL.canParse(server) ? new URL(server).protocol : ''
    if (scheme !== 'http:' && scheme !== 'https:') {
      throw new UsageError(`'${server}' is not the URL of a server; write it like ${DEFAULT_SERVER}`)
    }
  }
  if (servers.length === 0) throw new UsageError(`no server is named; write it like --server ${DEFAULT_SERVER}`)
  return servers
}
