import { UsageError } from '../exit.ts'
import type { ServeSettings } from './settings.ts'

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

/** The flags of `baton serve` as the environment says them: `--tls-cert` is `BATON_TLS_CERT`. */
export function settingsOfEnvironment(env: NodeJS.ProcessEnv, warn: (sentence: string) => void): ServeSettings {
  const text = (name: string) => env[name] || undefined
  return {
    config: text('BATON_CONFIG'),
    host: text('BATON_HOST'),
    port: text('BATON_PORT') ?? text('PORT'),
    store: text('BATON_STORE'),
    tokens: text('BATON_TOKENS'),
    insecure: boolean(env, 'BATON_INSECURE'),
    allowedHost: text('BATON_ALLOWED_HOST'),
    tlsCert: text('BATON_TLS_CERT'),
    tlsKey: text('BATON_TLS_KEY'),
    tlsCa: text('BATON_TLS_CA'),
    exclusion: text('BATON_EXCLUSION'),
    resultLimit: text('BATON_RESULT_LIMIT'),
    logLevel: text('BATON_LOG_LEVEL'),
    logFormat: text('BATON_LOG_FORMAT'),
    queueing: boolean(env, 'BATON_QUEUEING') ?? not(boolean(env, 'BATON_NO_QUEUEING')) ?? multiNode(env, warn),
  }
}

function boolean(env: NodeJS.ProcessEnv, name: string): boolean | undefined {
  const text = env[name]
  if (text === undefined || text === '') return undefined
  if (TRUE.includes(text)) return true
  if (FALSE.includes(text)) return false
  throw new UsageError(`${name} is '${text}'; set it to true or false`)
}

function not(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value
}

/** An old name that deployments rely on: a value that it does not know is no reason not to start. */
function multiNode(env: NodeJS.ProcessEnv, warn: (sentence: string) => void): boolean | undefined {
  const text = env.ALLOW_MULTI_NODE_DOWNLOAD
  if (text === undefined) return undefined
  if (FALSE.includes(text)) return false
  if (!TRUE.includes(text)) {
    warn(`ALLOW_MULTI_NODE_DOWNLOAD is '${text}', neither true nor false: taken as true; set it to true or false`)
  }
  return true
}
