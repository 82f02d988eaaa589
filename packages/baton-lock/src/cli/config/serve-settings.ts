import { LIMITS } from '@baton-lock/protocol'
import { z } from 'zod'
import { UsageError } from '../exit.ts'
import { parseBytes } from '../values.ts'

/**
 * One setting of `baton serve`. Its key makes its flag and its variable: `tlsCert` is `--tls-cert` and `BATON_TLS_CERT`.
 * Flags, environment, TOML file, `--help` and docs/configuration.md all come from the table below: a new setting is a row here,
 * and whoever uses it takes it from what `serveConfig` has settled. `npm run docs:configuration` rewrites the page.
 */
export interface Setting {
  readonly kind: ValueKind<unknown>
  /** What stands behind the flag in help. A switch has none. */
  readonly value?: string
  /** Where it is in the TOML file, tables by dots. */
  readonly toml?: string
  /** As one would write it. */
  readonly default?: string
  /** Variables that are heard too, where its own is not set. */
  readonly also?: readonly string[]
  /** Of a switch: what its flag `--no-…` and its variable `BATON_NO_…` do. */
  readonly negation?: string
  /** It is one of the namespace `default` of the policy, whose default counts. */
  readonly inPolicy?: true
  /** `STORES` stands for the URLs of the stores that there are. */
  readonly says: string
}

/** The type of a setting, for all sources. */
interface ValueKind<Value> {
  /** For the reference. */
  readonly is: string
  /** What the TOML file may hold. Its text is then parsed as that of a flag is. */
  readonly schema: z.ZodType<string | number | boolean | readonly string[]>
  /** Its flag may be repeated; by commas elsewhere. */
  readonly isList?: true
  /** Throws a `UsageError` that says what to write. `name` is that of the setting. */
  parse(text: string, name: string): Value
}

const portSchema = z.int().min(0).max(65_535)

const text: ValueKind<string> = { is: 'text', schema: z.string().min(1), parse: (said) => said }

const file: ValueKind<string> = { ...text, is: 'the path of a file' }

/** Given by its flag alone; the environment says `true` or `false`. */
const aSwitch: ValueKind<boolean> = {
  is: 'true or false',
  schema: z.boolean(),
  parse: (said) => said === 'true',
}

const port: ValueKind<number> = {
  is: 'a whole number, 0 to 65535',
  schema: portSchema,
  parse(said) {
    const checked = portSchema.safeParse(/^\d+$/.test(said) ? Number(said) : undefined)
    if (checked.success) return checked.data
    throw new UsageError(`'${said}' is not a port; use 0 (any free one) to 65535`)
  },
}

const hostNames: ValueKind<readonly string[]> = {
  is: 'names; by commas, in the file a list',
  isList: true,
  schema: z.array(z.string()),
  parse(said) {
    const names = said.split(',').map((name) => name.trim())
    for (const name of names) {
      if (/^[^\s/:*]+$/.test(name)) continue
      throw new UsageError(`'${name}' is not the name of a host; write it alone, without port or scheme: baton.example`)
    }
    return names
  },
}

function bytesUpTo(max: number): ValueKind<number> {
  return {
    is: 'bytes, like 16384 or 64KiB',
    schema: z.int().or(z.string()),
    parse: (said) => parseBytes(said, { max }),
  }
}

function oneOf<const Choice extends string>(...choices: readonly Choice[]): ValueKind<Choice> {
  return {
    is: choices.join(', '),
    schema: z.enum(choices),
    parse(said, name) {
      const choice = choices.find((each) => each === said)
      if (choice !== undefined) return choice
      throw new UsageError(`${name} is '${said}'; use ${choices.join(' or ')}`)
    },
  }
}

/** Durable out of the box: in the folder where the server is started. */
export const DEFAULT_STORE = 'file:./baton-data'

const serveSettings = {
  host: { kind: text, value: 'host', toml: 'host', default: '127.0.0.1', says: 'where to listen' },
  port: { kind: port, value: 'port', toml: 'port', default: '8086', also: ['PORT'], says: '0 picks a free one' },
  store: { kind: text, value: 'url', toml: 'store', default: DEFAULT_STORE, says: 'where the state is kept: STORES' },
  config: { kind: file, value: 'file', says: 'a TOML file' },
  tokens: { kind: file, value: 'file', says: 'a TOML file of [[tokens]] that may enter' },
  audit: {
    kind: file,
    value: 'file',
    toml: 'audit',
    says: 'a file to which what operators do is appended, as lines of JSON; without one it is in the log',
  },
  insecure: { kind: aSwitch, toml: 'insecure', default: 'false', says: 'listen beyond loopback without tokens' },
  allowedHost: {
    kind: hostNames,
    value: 'name',
    toml: 'allowed_hosts',
    says: 'a name that a server without tokens is called by, beside IP addresses and localhost; repeatable',
  },
  tlsCert: { kind: file, value: 'file', toml: 'tls.cert', says: "the server's certificate, PEM" },
  tlsKey: { kind: file, value: 'file', toml: 'tls.key', says: 'its key, PEM' },
  tlsCa: { kind: file, value: 'file', toml: 'tls.ca', says: 'ask clients for a certificate of this authority' },
  queueing: {
    kind: aSwitch,
    toml: 'policy.namespaces.default.queueing',
    inPolicy: true,
    default: 'true',
    also: ['ALLOW_MULTI_NODE_DOWNLOAD'],
    says: 'let requests wait in line',
    negation: 'refuse at once where it is busy',
  },
  exclusion: {
    kind: oneOf('operation', 'resource'),
    value: 'of',
    toml: 'policy.namespaces.default.exclusion',
    inPolicy: true,
    default: 'operation',
    says: 'one grant per operation of a resource, or one per resource',
  },
  resultLimit: {
    kind: bytesUpTo(LIMITS.resultMaxBytes),
    value: 'bytes',
    toml: 'result_limit',
    default: `${LIMITS.resultBytes / 1024}KiB`,
    says: `the largest result told to others, up to ${LIMITS.resultMaxBytes / 1024}KiB`,
  },
  logLevel: {
    kind: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    value: 'level',
    toml: 'log_level',
    default: 'info',
    says: 'from which level on the log is written',
  },
  logFormat: {
    kind: oneOf('json', 'pretty'),
    value: 'format',
    toml: 'log_format',
    says: 'how the log is written; absent, pretty on a terminal and json elsewhere',
  },
} as const satisfies Readonly<Record<string, Setting>>

type Rows = typeof serveSettings
type Key = keyof Rows
type ValueOf<Of extends Key> = Rows[Of]['kind'] extends ValueKind<infer Value> ? Value : never
type Settled<Of extends Key> = Rows[Of] extends { readonly inPolicy: true }
  ? never
  : Rows[Of] extends { readonly default: string }
    ? Of
    : never

/** The settings of one source: switches as booleans, everything else as unparsed text. */
export type ServeSettings = { readonly [Of in Key]?: ValueOf<Of> extends boolean ? boolean : string }

/** Parsed, with the defaults of those that have one. */
export type SettledSettings = { readonly [Of in Key as Settled<Of>]: ValueOf<Of> } & {
  readonly [Of in Exclude<Key, Settled<Key>>]?: ValueOf<Of>
}

export const settingRows: readonly (readonly [key: string, setting: Setting])[] = Object.entries(serveSettings)

export function flagOf(key: string): string {
  return `--${wordsOf(key).join('-')}`
}

/** Its own variable; in a switch with a negation, that of the negation too. */
export function variablesOf(key: string, { negation, also = [] }: Setting): readonly string[] {
  const name = wordsOf(key).join('_').toUpperCase()
  return [`BATON_${name}`, ...(negation === undefined ? [] : [`BATON_NO_${name}`]), ...also]
}

/** The sources are merged before: later wins, and what does not count is not parsed. */
export function settle(said: ServeSettings): SettledSettings {
  const values = settingRows.map(([key, { kind, default: usual, inPolicy }]) => {
    const own = said[key as Key] ?? (inPolicy ? undefined : usual)
    return [key, typeof own === 'string' ? kind.parse(own, key) : own]
  })
  return Object.fromEntries(values) as SettledSettings
}

function wordsOf(key: string): readonly string[] {
  return key.split(/(?=[A-Z])/).map((word) => word.toLowerCase())
}

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

type Warn = (sentence: string) => void

/** The settings of `baton serve` as the environment says them. Of several variables of one setting, the first that is set counts. */
export function settingsOfEnvironment(env: NodeJS.ProcessEnv, warn: Warn): ServeSettings {
  const settings = settingRows.map(([key, setting]) => {
    const read = setting.kind === aSwitch ? readSwitch : readText
    for (const name of variablesOf(key, setting)) {
      const value = read(env, name, warn)
      if (value !== undefined) return [key, value]
    }
    return [key, undefined]
  })
  return Object.fromEntries(settings)
}

function readText(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return env[name] || undefined
}

function readSwitch(env: NodeJS.ProcessEnv, name: string, warn: Warn): boolean | undefined {
  if (name === 'ALLOW_MULTI_NODE_DOWNLOAD') return multiNode(env, warn)
  const value = boolean(env, name)
  return value === undefined ? undefined : value !== name.startsWith('BATON_NO_')
}

function boolean(env: NodeJS.ProcessEnv, name: string): boolean | undefined {
  const text = env[name]
  if (text === undefined || text === '') return undefined
  if (TRUE.includes(text)) return true
  if (FALSE.includes(text)) return false
  throw new UsageError(`${name} is '${text}'; set it to true or false`)
}

/** An old name that deployments rely on: a value that it does not know is no reason not to start. */
function multiNode(env: NodeJS.ProcessEnv, warn: Warn): boolean | undefined {
  const text = env.ALLOW_MULTI_NODE_DOWNLOAD
  if (text === undefined) return undefined
  if (FALSE.includes(text)) return false
  if (!TRUE.includes(text)) {
    warn(`ALLOW_MULTI_NODE_DOWNLOAD is '${text}', neither true nor false: taken as true; set it to true or false`)
  }
  return true
}
