import { isIP } from 'node:net'
import type { Policy } from '@baton-lock/core'
import { type NamedToken, QUOTAS, type Quotas, type Token } from '@baton-lock/protocol'
import { policySchema } from '@baton-lock/protocol/schemas'
import { UsageError } from '../exit.ts'
import { type ConfigFile, checked, readConfigFile, readTokensFile } from './file.ts'
import { readPem } from './pem.ts'
import { type ServeSettings, type SettledSettings, settingsOfEnvironment, settle } from './serve-settings.ts'

/** Everything decided: what the server is started with. */
export interface ServeConfig {
  readonly host: string
  readonly port: number
  readonly store: string
  /** None: everybody may do everything. */
  readonly tokens: readonly Token[]
  /** Names by which a server without tokens is called, beside IP addresses and `localhost`. */
  readonly allowedHosts: readonly string[]
  readonly policy: Policy
  /** Whether anything was said of the policy; a store that has one already is then held to it. */
  readonly isPolicyChosen: boolean
  /** The largest result that is told to others, in bytes of JSON. */
  readonly resultLimit: number
  /** What a node and a token may have. */
  readonly quotas: Quotas
  /** From which level on the log is written. */
  readonly logLevel: SettledSettings['logLevel']
  /** Absent: for people on a terminal, as JSON elsewhere. */
  readonly logFormat?: SettledSettings['logFormat']
  /** PEM text, not paths. With `ca`, clients need a certificate of it. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string }
  /** The path of a file for what operators do. Default: the log. */
  readonly audit?: string | undefined
  readonly reloadable: Reloadable
}

/** What a running server reloads from its files. */
interface Reloadable {
  /** Their paths. */
  readonly files: readonly string[]
  /** As they are now; throws where a server could not be started with them. */
  readTokens(): readonly Token[]
  readTls(): ServeConfig['tls']
}

interface ServeSources {
  readonly flags: ServeSettings
  readonly env: NodeJS.ProcessEnv
  readonly warn: (sentence: string) => void
}

/** File, environment, flags: later wins. */
export function serveConfig({ flags, env, warn }: ServeSources): ServeConfig {
  const said = { ...settingsOfEnvironment(env, warn), ...present(flags) }
  const file = said.config === undefined ? { settings: {} } : readConfigFile(said.config)
  const settings = settle({ ...file.settings, ...present(said) })
  const { host, port, store, resultLimit, insecure } = settings
  const tokens = tokensOf(settings, file)
  if (!isLoopback(host) && tokens.length === 0 && !insecure) {
    throw new UsageError(
      `${host} can be reached from other machines; name tokens with --tokens FILE, ` +
        'or say --insecure to let everybody in',
    )
  }
  return {
    host,
    port,
    store,
    tokens,
    // The name that it listens at is the one that it prints.
    allowedHosts: [...(settings.allowedHost ?? []), host],
    policy: policyOf(settings, file),
    isPolicyChosen: [settings.queueing, settings.exclusion, file.policy].some((choice) => choice !== undefined),
    resultLimit,
    quotas: quotasOf(file),
    logLevel: settings.logLevel,
    logFormat: settings.logFormat,
    tls: tlsOf(settings),
    audit: settings.audit,
    reloadable: reloadableOf(settings),
  }
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function quotasOf({ quotas }: ConfigFile): Quotas {
  return { node: { ...QUOTAS.node, ...quotas?.node }, token: { ...QUOTAS.token, ...quotas?.token } }
}

function reloadableOf(settings: SettledSettings): Reloadable {
  const { tokens = settings.config, tlsCert, tlsKey, tlsCa } = settings
  return {
    files: [tokens, tlsCert, tlsKey, tlsCa].filter((path) => path !== undefined),
    readTokens: () => tokensOf(settings, settings.config === undefined ? undefined : readConfigFile(settings.config)),
    readTls: () => tlsOf(settings),
  }
}

function tokensOf({ tokens: path, tlsCa }: SettledSettings, file?: Pick<ConfigFile, 'tokens'>): readonly NamedToken[] {
  const tokens = path === undefined ? (file?.tokens ?? []) : readTokensFile(path)
  const shown = tokens.find(({ certificate }) => certificate !== undefined)
  if (shown && tlsCa === undefined) {
    throw new UsageError(
      `the tokens name a certificate (${shown.certificate}), and clients are asked for none; ` +
        'name the authority of those that they may show with --tls-ca FILE',
    )
  }
  return tokens
}

/** The switches of the flags are those of the namespace `default`. */
function policyOf({ queueing, exclusion, config = 'the policy' }: SettledSettings, file: ConfigFile): Policy {
  const namespaces = file.policy?.namespaces ?? {}
  const switches = present({ queueing, exclusion })
  return checked(
    policySchema,
    { namespaces: { ...namespaces, default: { ...namespaces.default, ...switches } } },
    config,
  )
}

function tlsOf({ tlsCert: cert, tlsKey: key, tlsCa: ca }: SettledSettings): ServeConfig['tls'] {
  if (cert === undefined && key === undefined && ca === undefined) return undefined
  if (cert === undefined || key === undefined) {
    throw new UsageError('TLS needs a certificate and its key: name both with --tls-cert FILE and --tls-key FILE')
  }
  return readPem({ cert, key, ca }) as ServeConfig['tls']
}

/** Without what was not said, so that it does not hide what an earlier source said. */
function present<Settings extends object>(settings: Settings): Partial<Settings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<Settings>
}
