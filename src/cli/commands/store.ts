import { DEFAULT_STORE } from '../config/serve-settings.ts'
import type { AddCommand, StoreMaintenance } from '../context.ts'
import { EXIT, UsageError } from '../exit.ts'
import { sayText } from '../print/say.ts'

interface StoreFlags {
  readonly store?: string
  readonly print?: boolean
  readonly by?: number
}

export const add: AddCommand = (program, context, done) => {
  const store = program
    .command('store')
    .description('Look after a store: a file store that no server has open, or a database.')

  const addTool = (name: keyof StoreMaintenance, description: string, example: string) =>
    store
      .command(name)
      .argument('[store]', 'its URL, or the directory of a file store')
      .description(description)
      .option('--store <url>', `which one (BATON_STORE; default: ${DEFAULT_STORE})`)
      .addHelpText('after', `\nExample:\n  $ baton store ${name} ${example}`)
      .action(async (named: string | undefined, flags: StoreFlags) => {
        if (named !== undefined && flags.store !== undefined) {
          throw new UsageError('a store is named twice, by itself and by --store; name it once')
        }
        const url = named === undefined ? flags.store : urlOf(named)
        const maintain = context.storeMaintenance[name]
        const { print = false, by } = flags
        const said = await maintain(url ?? (context.env.BATON_STORE || DEFAULT_STORE), {
          print,
          ...(by !== undefined && { by }),
        })
        sayText(context.stdout, `${said}\n`)
        done(EXIT.ok)
      })

  addTool('check', 'say whether a store is in order', './baton-data')
  addTool(
    'repair',
    'go on without what is damaged: keeps what is good, puts the rest aside, says what is lost',
    './baton-data',
  )
  addTool(
    'raise-fences',
    'after a restore from a copy: no fence is granted again that was granted since the copy was made',
    './baton-data',
  ).option('--by <count>', 'at least as many as one resource was granted since (default: 4294967296)', wholeNumber)
  addTool(
    'migrate',
    'bring a store to the format of this version',
    'mysql://baton:secret@db:3306/baton --print',
  ).option('--print', 'only print the statements, for whoever may change the database')
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new UsageError(`'${text}' is no number of fences; write a whole one from 1 on, e.g. --by 1000000`)
}

/** What has no scheme is the directory of a file store. */
function urlOf(named: string): string {
  return /^[a-z][a-z0-9+.-]+:/.test(named) ? named : `file:${named}`
}
