import { UsageError } from '../exit.ts'
import { type ServeSettings, settingRows, variablesOf } from './serve-settings.ts'
import { aSwitch } from './value-kind.ts'

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
