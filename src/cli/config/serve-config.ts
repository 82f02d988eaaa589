import { isIP } from 'node:net'
import type { Policy } from '../../core/index.ts'
import { LIMITS, QUOTAS, type Quotas, type Token } from '../../protocol/index.ts'
import { policySchema } from '../../protocol/schemas.ts'
import { parseBytes } from '../bytes.ts'
import { UsageError } from '../exit.ts'
import { settingsOfEnvironment } from './environment.ts'
import { type ConfigFile, checked, portSchema, readConfigFile, readTokensFile } from './file.ts'
import { readPem } from './pem.ts'
import type { ServeSettings } from './settings.ts'

export type { ServeSettings } from './settings.ts'

/** Durable out of the box: in the folder where the server is started. */
export const DEFAULT_STORE = 'file:./baton-data'

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
  readonly logLevel: LogLevel
  /** Absent: for people on a terminal, as JSON elsewhere. */
  readonly logFormat?: LogFormat | undefined
  /** PEM text, not paths. With `ca`, clients need a certificate of it. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string }
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
const LOG_FORMATS = ['json', 'pretty'] as const

type LogLevel = (typeof LOG_LEVELS)[number]
type LogFormat = (typeof LOG_FORMATS)[number]

interface ServeSources {
  readonly flags: ServeSettings
  readonly env: NodeJS.ProcessEnv
  readonly warn: (sentence: string) => void
}

/** File, environment, flags: later wins. */
export function serveConfig({ flags, env, warn }: ServeSources): ServeConfig {
  const settings = { ...settingsOfEnvironment(env, warn), ...said(flags) }
  const file = settings.config === undefined ? {} : readConfigFile(settings.config)
  const host = settings.host ?? file.host ?? '127.0.0.1'
  const tokens = settings.tokens === undefined ? (file.tokens ?? []) : readTokensFile(settings.tokens)
  const insecure = settings.insecure ?? file.insecure ?? false
  if (!isLoopback(host) && tokens.length === 0 && !insecure) {
    throw new UsageError(
      `${host} can be reached from other machines; name tokens with --tokens FILE, ` +
        'or say --insecure to let everybody in',
    )
  }
  return {
    host,
    port: portOf(settings.port) ?? file.port ?? 8086,
    store: settings.store ?? file.store ?? DEFAULT_STORE,
    tokens,
    // The name that it listens at is the one that it prints.
    allowedHosts: [...allowedHostsOf(settings, file), host],
    policy: policyOf(settings, file),
    isPolicyChosen: [settings.queueing, settings.exclusion, file.policy].some((choice) => choice !== undefined),
    resultLimit: resultLimitOf(settings, file),
    quotas: quotasOf(file),
    logLevel: oneOf(LOG_LEVELS, settings.logLevel ?? file.log_level, 'a level of the log') ?? 'info',
    logFormat: oneOf(LOG_FORMATS, settings.logFormat ?? file.log_format, 'a format of the log'),
    tls: tlsOf(settings, file),
  }
}

function allowedHostsOf({ allowedHost }: ServeSettings, file: ConfigFile): readonly string[] {
  const names =
    allowedHost === undefined ? (file.allowed_hosts ?? []) : allowedHost.split(',').map((name) => name.trim())
  for (const name of names) {
    if (!/^[^\s/:*]+$/.test(name)) {
      throw new UsageError(`'${name}' is not the name of a host; write it alone, without port or scheme: baton.example`)
    }
  }
  return names
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = portSchema.safeParse(/^\d+$/.test(text) ? Number(text) : undefined)
  if (port.success) return port.data
  throw new UsageError(`'${text}' is not a port; use 0 (any free one) to 65535`)
}

function resultLimitOf({ resultLimit }: ServeSettings, file: ConfigFile): number {
  const limit = resultLimit ?? file.result_limit
  return limit === undefined ? LIMITS.resultBytes : parseBytes(String(limit), { max: LIMITS.resultMaxBytes })
}

function oneOf<Word extends string>(words: readonly Word[], text: string | undefined, what: string): Word | undefined {
  const word = words.find((each) => each === text)
  if (word !== undefined || text === undefined) return word
  throw new UsageError(`'${text}' is not ${what}; use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
}

function quotasOf({ quotas }: ConfigFile): Quotas {
  return { node: { ...QUOTAS.node, ...quotas?.node }, token: { ...QUOTAS.token, ...quotas?.token } }
}

/** The switches of the flags are those of the namespace `default`. */
function policyOf({ queueing, exclusion, config = 'the policy' }: ServeSettings, file: ConfigFile): Policy {
  if (exclusion !== undefined && exclusion !== 'operation' && exclusion !== 'resource') {
    throw new UsageError(`'${exclusion}' is not an exclusion; use operation or resource`)
  }
  const namespaces = file.policy?.namespaces ?? {}
  const switches = said({ queueing, exclusion })
  return checked(
    policySchema,
    { namespaces: { ...namespaces, default: { ...namespaces.default, ...switches } } },
    config,
  )
}

function tlsOf({ tlsCert, tlsKey, tlsCa }: ServeSettings, { tls }: ConfigFile): ServeConfig['tls'] {
  const cert = tlsCert ?? tls?.cert
  const key = tlsKey ?? tls?.key
  const ca = tlsCa ?? tls?.ca
  if (cert === undefined && key === undefined && ca === undefined) return undefined
  if (cert === undefined || key === undefined) {
    throw new UsageError('TLS needs a certificate and its key: name both with --tls-cert FILE and --tls-key FILE')
  }
  return readPem({ cert, key, ca }) as ServeConfig['tls']
}

/** Without what was not said, so that it does not hide what an earlier source said. */
function said<Settings extends object>(settings: Settings): Partial<Settings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<Settings>
}
